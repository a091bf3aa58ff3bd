import Addresses
import ArgumentParser
import Foundation

/// The settings for clients' reports.
struct TelemetryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Days to keep client reports. Default: 14. [env: PINLEDGER_TELEMETRY_RETENTION]", valueName: "days"))
    var telemetryRetention: Int?

    @Option(
        help: ArgumentHelp(
            "Outcomes per second that one network (/24, /48) may report, and ten times as many at once; 0 for no limit. Default: 500. [env: PINLEDGER_TELEMETRY_RATE]",
            valueName: "count"))
    var telemetryRate: Double?

    @Option(
        help: ArgumentHelp(
            "Addresses of proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8. May be repeated. [env: PINLEDGER_TRUSTED_PROXY, separated by commas]",
            valueName: "range"))
    var trustedProxy: [String] = []

    func read(_ settings: Settings) throws -> TelemetryConfiguration {
        TelemetryConfiguration(
            retentionDays: try settings.number(.telemetryRetention, self.telemetryRetention, or: 14, in: 2...3650),
            rate: try settings.number(.telemetryRate, self.telemetryRate, or: 500, in: 0...1_000_000_000),
            trustedProxies: try settings.networks(.trustedProxy, self.trustedProxy)
        )
    }
}

/// The settings for clients' reports.
struct TelemetryConfiguration: Sendable {
    var retentionDays: Int
    /// Outcomes a second that one network may report; 0 for no limit.
    var rate: Double
    var trustedProxies: [IPNetwork]
}
