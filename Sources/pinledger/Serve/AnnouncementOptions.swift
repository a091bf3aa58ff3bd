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

    func validate() throws {
        do { _ = try self.warnDays.map { (text) throws(Horizons.Malformed) in try Horizons(text) } } catch {
            throw ValidationError("--warn-days \(error)")
        }
    }

    /// Checks the value of the flag or of the environment.
    func read() throws -> Horizons {
        guard let text = self.warnDays ?? Environment["PINLEDGER_WARN_DAYS"] else { return .standard }
        do { return try Horizons(text) } catch {
            throw CommandFailure("PINLEDGER_WARN_DAYS (or its flag) \(error.description)", status: .usage)
        }
    }
}
