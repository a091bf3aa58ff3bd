import PinWire

/// Numbers made of apps' names, by which work on very many apps is spread: the same in every process, and as if drawn by lot.
enum AppSpread {
    /// - Parameter seed: Another one makes other numbers of the same names.
    static func number(of app: AppID, seed: UInt64 = 0) -> UInt64 {
        // FNV-1a, which leaves the high bits of short names alike, and then the last steps of SplitMix64.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ seed
        for byte in app.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
        return hash ^ hash >> 31
    }
}

extension Publisher.Schedule {
    /// The age at which an app's document is signed again: three quarters to the whole of ``renewalSeconds``, so that documents which a
    /// change of the whole fleet has made in one second are not all due in one second.
    func renewalSeconds(of app: AppID) -> Int64 {
        let spread = UInt64(max(0, self.renewalSeconds / 4)) + 1
        return self.renewalSeconds - Int64(AppSpread.number(of: app) % spread)
    }
}
