import PinWire

/// Until when clients trust certificates: as long as these are valid, or at most for a number of days.
///
/// A client cannot forget an entry: it trusts one until the end that it got first, and takes the same fingerprint with
/// another end for another entry. So a limit does not move continuously with the clock, which would give clients one
/// more entry at each update, but in steps of a quarter of its length: an entry is trusted for at least three quarters
/// of the days and never for longer than all of them, and an answer stays the same in between.
struct WultraExpiry {
    private let now: Timestamp
    /// In seconds since the epoch; nil for as long as the certificate.
    private let limit: Int64?
    /// When ``limit`` moves on; nil where there is none.
    let nextStep: Timestamp?

    /// A limit of more than a hundred years has no effect.
    private static let longest: Int64 = 36_500

    /// - Parameter days: The setting ``ClientSettings/entryDays``.
    init(days: Int64?, at now: Timestamp) {
        self.now = now
        guard let days else {
            self.limit = nil
            self.nextStep = nil
            return
        }
        let length = min(max(days, 1), Self.longest) * 86_400
        let step = length / 4
        let begun = now.seconds - (now.seconds % step + step) % step
        self.limit = begun + length
        self.nextStep = Timestamp(seconds: begun + step)
    }

    /// The end of a certificate's entry in seconds since the epoch; nil where it has expired.
    func end(of certificate: CertificateFacts) -> Int64? {
        guard self.now < certificate.notAfter else { return nil }
        return self.limit.map { min($0, certificate.notAfter.seconds) } ?? certificate.notAfter.seconds
    }
}
