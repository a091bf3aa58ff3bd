import ArgumentParser
import Pinning

/// How long before the end of a certificate or pin it is announced.
struct AnnouncementOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Warn this many days before something expires. Default: 30,14,7,1. [env: PINLEDGER_WARN_DAYS]",
            valueName: "days"
        )
    )
    var warnDays: String?

    func read(_ settings: Settings) throws -> Horizons {
        guard let text = settings.text(.warnDays, self.warnDays, default: "30,14,7,1") else { return .standard }
        do { return try Horizons(text) } catch { throw settings.failure(.warnDays, error.description) }
    }
}
