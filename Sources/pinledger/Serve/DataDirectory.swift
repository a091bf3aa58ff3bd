import ArgumentParser
import Foundation

/// The directory of `pinledger dev`, in which other commands find its database, its server and its token.
struct DataDirectory: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Directory of `pinledger dev` and its data. Default: \(Self.usual). [env: PINLEDGER_DATA]",
            valueName: "directory"))
    var data: String?

    private static let usual = ".pinledger"

    /// Where the directory is if no flag names it.
    static var ofEnvironment: String { Environment["PINLEDGER_DATA"] ?? Self.usual }

    /// The absolute path.
    var path: String { URL(fileURLWithPath: self.data ?? Self.ofEnvironment).standardizedFileURL.path }

    /// Whether commands in the present directory find it without being told.
    var isUsual: Bool { self.path == URL(fileURLWithPath: Self.usual).standardizedFileURL.path }
}
