public import PinWire

/// What an app tells ``PinledgerReporter``. Without one, nothing is ever reported.
public struct ReportConfiguration: Sendable {
    /// 16 random bytes that this install made for itself: `InstallID.kept(in:)`. Installs are counted by it, and the server stores
    /// no more of it than a keyed hash that changes each day.
    public var install: InstallID
    /// The key with which reports are signed. Unsigned ones are advice to the server: no rotation and no plan relies on them.
    public var key: ReportKey?
    /// Services that take reports, in the order in which they are tried: over `https://`, or on this machine `http://`. Others are left out:
    /// the install's id is in each report.
    public var services: [ServiceAddress]
    public var platform: ClientPlatform?
    /// The app's version as it stands in the app; its first three groups are reported.
    public var appVersion: String?
    /// How many of its installs report, in basis points. Each day others do.
    public var share = 10_000
    /// The time between two batches, give or take a tenth; at least 10 seconds.
    public var interval = Duration.seconds(900)
    /// How long one service may take to answer.
    public var timeout = Duration.seconds(15)

    public init(install: InstallID, services: [ServiceAddress], key: ReportKey?) {
        self.install = install
        self.services = services
        self.key = key
    }
}

extension ReportConfiguration {
    /// Whether this install reports on a day: the page `telemetry` has the formula.
    package func isSampled(on day: ReportDay) -> Bool {
        let message = Array("pinledger-reports/v1/sample\u{0}".utf8) + self.install.bytes + [0] + Array(day.text.utf8)
        let first = sha256(message).prefix(4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (first * 10_000) >> 32 < UInt64(max(0, self.share))
    }
}

/// A day in UTC: `2026-11-28`.
package struct ReportDay: Hashable, Sendable {
    /// Days since 1970-01-01.
    private let number: Int64

    package init(_ time: Timestamp) {
        let seconds = time.seconds
        self.number = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    }

    /// Nil unless it has the form of one.
    init?(text: String) {
        guard text.utf8.count == 10, let time = Timestamp(rfc3339: "\(text)T00:00:00Z") else { return nil }
        self.init(time)
    }

    var text: String { String(Timestamp(seconds: self.number * 86_400).rfc3339.prefix(10)) }
}

extension InstallID {
    /// The id that a store of its own keeps, or a new one, which is kept there from now on.
    ///
    /// The store MUST stay on the device: with a backup that is restored on another one, two devices would be one install, and the newer
    /// one would speak for the older. ``KeychainStore`` stays; settings of the app do not.
    ///
    /// - Throws: The store's error, where it cannot be read or written: an id that is not kept would be another install at each start. Also where
    ///   the store holds documents or reports.
    public static func kept(in store: any ClientStore) async throws -> InstallID {
        if let bytes = try await store.read() {
            if let id = InstallID(bytes: bytes) { return id }
            try StoreContent.require(.installID, bytes)
        }
        let id = InstallID.random()
        try await store.write(id.bytes)
        // Another process may have been as fast: both go on with what is there.
        return try await store.read().flatMap { InstallID(bytes: $0) } ?? id
    }

    /// A new id, of the system's random numbers.
    public static func random() -> InstallID {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<InstallID.size).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        guard let id = InstallID(bytes: bytes) else { preconditionFailure("\(InstallID.size) bytes make an id") }
        return id
    }
}
