import PinWire

/// The last app and host that were read: the next event is mostly about the same, and then shares their texts.
package struct RecentNames: Sendable {
    private var app: AppID?
    private var host: HostPattern?

    package init() {}

    /// The app of that name; nil for a malformed name.
    mutating func app(_ name: UnsafeBufferPointer<UInt8>) -> AppID? {
        if let app, app.text.isSpelled(name) { return app }
        guard let app = AppID(plain: name) else { return nil }
        self.app = app
        return app
    }

    /// The host pattern of that text; nil for a malformed one.
    mutating func host(_ text: UnsafeBufferPointer<UInt8>) -> HostPattern? {
        if let host, host.text.isSpelled(text) { return host }
        guard let host = HostPattern(plain: text) ?? (try? HostPattern(String(decoding: text, as: UTF8.self))) else {
            return nil
        }
        self.host = host
        return host
    }
}

extension String {
    /// Whether these are the bytes of its UTF-8.
    fileprivate func isSpelled(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard self.utf8.count == bytes.count else { return false }
        var text = self
        return text.withUTF8 { own in
            for place in 0..<bytes.count where own[place] != bytes[place] { return false }
            return true
        }
    }
}
