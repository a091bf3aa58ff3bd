import ArgumentParser
import Foundation
import PinWire

/// The flag by which a command shows the same again and again.
struct WatchOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Show it again after so many seconds, until Control-C. In a terminal it replaces what is shown.",
            valueName: "seconds"))
    var watch: Double?

    func validate() throws {
        guard let watch, !(0.5...3600).contains(watch) else { return }
        throw ValidationError("--watch must be from 0.5 to 3600 seconds")
    }

    /// Runs `body` with a client, and again every so many seconds where that is asked for.
    ///
    /// A failure ends the command the first time. Later, one that may pass is shown: who watches an outage goes on.
    func with(_ remote: RemoteOptions, _ body: (APIClient) async throws -> Void) async throws {
        guard self.watch == nil || remote.place.tokenFile != "-" else {
            throw CommandFailure(
                "--watch asks again, and standard input has the token once", advice: "Give the token in a file.",
                status: .usage)
        }
        try await self.repeating { try await remote.withClient(body) }
    }

    /// Runs `body`, and again every so many seconds where that is asked for.
    func repeating(_ body: () async throws -> Void) async throws {
        guard let watch else { return try await body() }
        var isFirst = true
        while true {
            Console.clear()
            do { try await body() } catch let code as ExitCode {
                throw code
            } catch {
                let failure = ErrorText.failure(for: error)
                // The server may come back; a token that was revoked, or an app that is gone, does not.
                guard !isFirst, [.failure, .unreachable, .tooMany].contains(failure.status) else { throw error }
                Console.error("pinledger: \(failure.message)")
            }
            isFirst = false
            try await Task.sleep(for: .seconds(watch))
        }
    }
}
