import ArgumentParser
import Foundation
import NIOCore
import Postgres

/// The errors' texts for the operator: one place where each error that ends a command becomes a sentence.
enum ErrorText {
    /// Whether the argument parser has its own text: usage, help, a version, an exit code.
    static func isOfArguments(_ error: any Error) -> Bool {
        if error is ValidationError || error is CleanExit || error is ExitCode { return true }
        return String(reflecting: type(of: error)).hasPrefix("ArgumentParser.")
    }

    /// The failure with which the error ends the command.
    static func failure(for error: any Error) -> CommandFailure {
        switch error {
        case let failure as CommandFailure: failure
        case let error as PostgresError:
            CommandFailure(
                "the database cannot be used: \(error)", advice: "Run `pinledger doctor` to find out why.",
                status: error.code == .connectionFailed ? .unreachable : .failure)
        case let error as IOError where error.errnoCode == EADDRINUSE:
            CommandFailure(
                "the address to listen on is taken by another program",
                advice: "Choose another one with --listen. `pinledger doctor` shows what listens there.")
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL:
            CommandFailure(
                "the address to listen on does not belong to this machine",
                advice: "Give --listen an address of this machine.")
        default:
            CommandFailure(
                self.sentence(for: error),
                advice: self.isKnown(error) ? nil : "Set PINLEDGER_LOG_LEVEL=debug to see the error itself.")
        }
    }

    /// The error in words, without names from Swift and places in source code.
    static func sentence(for error: any Error) -> String {
        switch error {
        case let failure as CommandFailure: return failure.message
        case let failure as APIClient.BrokenExchange: return failure.failure.message
        case let failure as FileRenewal.Unusable: return failure.reason
        case let error as IOError: return String(cString: strerror(error.errnoCode)).lowercased()
        case is CancellationError: return "it was cancelled"
        default: break
        }
        if self.isKnown(error) { return String(describing: error) }
        if let error = error as? CocoaError {
            let path = error.filePath.map { "\($0): " } ?? ""
            return path + error.localizedDescription
        }
        let isVerbose = ["debug", "trace"].contains(Environment["PINLEDGER_LOG_LEVEL"]?.lowercased() ?? "")
        return "an unforeseen error occurred" + (isVerbose ? ": \(String(reflecting: error))" : "")
    }

    /// Whether it is an error of this program: each type of them describes itself.
    private static func isKnown(_ error: any Error) -> Bool {
        let module = String(reflecting: type(of: error)).prefix { $0 != "." }
        return self.modules.contains(String(module))
    }

    static let modules: Set<String> = [
        "Addresses", "ClientFormats", "Concurrency", "Countries", "Edge", "EventStore", "Exposition", "Firebase",
        "Handbook",
        "IdentityTokens", "KeyFiles", "Keys", "LogLines", "PinWire", "Pinning", "PinledgerClient",
        "PinledgerClientNIO", "PinledgerServer", "Postgres",
        "Probing", "PublicSuffixes", "Publishing",
        "Secrets", "Signals", "TraceExport", "Traces", "TransparencyLog", "Webhooks", "Witnesses", "pinledger",
    ]
}
