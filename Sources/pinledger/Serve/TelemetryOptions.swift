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

    /// Flags first, then environment variables, then defaults.
    func read() throws -> TelemetryConfiguration {
        var ranges = self.trustedProxy
        if ranges.isEmpty, let text = Environment["PINLEDGER_TRUSTED_PROXY"] {
            ranges = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return TelemetryConfiguration(
            retentionDays: try NodeConfiguration.number(
                self.telemetryRetention, "PINLEDGER_TELEMETRY_RETENTION", default: 14, in: 2...3650),
            rate: try NodeConfiguration.number(
                self.telemetryRate, "PINLEDGER_TELEMETRY_RATE", default: 500, in: 0...1_000_000_000),
            trustedProxies: try ranges.map { range in
                do { return try IPNetwork(range) } catch {
                    throw CommandFailure("\(range) is not a range of addresses: it \(error)", status: .usage)
                }
            }
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
