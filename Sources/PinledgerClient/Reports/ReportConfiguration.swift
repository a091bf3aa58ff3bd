public import PinWire

/// What an app tells ``PinledgerReporter``. Without one, nothing is ever reported.
public struct ReportConfiguration: Sendable {
    /// The app's id.
    public var app: AppID
    /// 16 random bytes that the app made when it was installed: `InstallID.random()`. Installs are counted by it, and the server
    /// stores no more of it than a keyed hash that changes each day.
    public var install: InstallID
    /// The key with which reports are signed. Unsigned ones are advice to the server: no rotation and no plan relies on them.
    public var key: ReportKey?
    /// The addresses of services that take reports, in the order in which they are tried.
    public var services: [String]
    public var platform: ClientPlatform?
    /// The app's version as it stands in the app; its first three groups are reported.
    public var appVersion: String?
    /// How many of its installs report, in basis points. Each day others do.
    public var share = 10_000
    /// The time between two batches, give or take a tenth.
    public var interval = Duration.seconds(900)
    /// How long one service may take to answer.
    public var timeout = Duration.seconds(15)

    public init(app: AppID, install: InstallID, services: [String], key: ReportKey?) {
        self.app = app
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
    let text: String

    package init(_ time: Timestamp) { self.text = String(time.wholeSeconds.rfc3339.prefix(10)) }

    /// Nil unless it has the form of one.
    init?(text: String) {
        guard Timestamp(rfc3339: "\(text)T00:00:00Z") != nil, text.utf8.count == 10 else { return nil }
        self.text = text
    }
}

extension InstallID {
    /// A new id, of the system's random numbers. Make one when the app is installed, and keep it where the app keeps its settings.
    public static func random() -> InstallID {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<InstallID.size).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        guard let id = InstallID(bytes: bytes) else { preconditionFailure("\(InstallID.size) bytes make an id") }
        return id
    }
}
