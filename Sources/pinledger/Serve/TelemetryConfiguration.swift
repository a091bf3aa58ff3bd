import Addresses

/// The settings for clients' reports.
struct TelemetryConfiguration: Sendable {
    var retentionDays: Int
    /// Outcomes a second that one network may report; 0 for no limit.
    var rate: Double
    var trustedProxies: [IPNetwork]

    init(_ settings: Settings) throws {
        self.retentionDays = try settings.integer(.telemetryRetention)
        self.rate = try settings.number(.telemetryRate)
        self.trustedProxies = try settings.networks(.trustedProxy)
    }
}
