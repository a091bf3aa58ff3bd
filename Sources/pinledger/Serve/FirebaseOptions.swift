import ArgumentParser
import Firebase
import Foundation
import Keys

/// The Firebase projects that a node keeps in step.
struct FirebaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Key file of a service account. The node keeps its project up to date with the apps that name it. May be repeated. [env: PINLEDGER_FIREBASE_CREDENTIALS, separated by commas]",
            valueName: "file"))
    var firebaseCredentials: [String] = []

    @Option(
        help: ArgumentHelp(
            "How often to check a project when nothing has changed in the ledger. Default: 300. [env: PINLEDGER_FIREBASE_INTERVAL]",
            valueName: "seconds"))
    var firebaseInterval: Int64?

    @Option(
        help: ArgumentHelp(
            "Address to use instead of Google's, for tests: https, or http on this machine. [env: PINLEDGER_FIREBASE_ENDPOINT]",
            valueName: "url"))
    var firebaseEndpoint: String?

    /// Checks the options, and reads the files.
    func read(_ settings: Settings) throws -> FirebaseConfiguration {
        var endpoint = FirebaseEndpoint.google
        if let text = settings.text(.firebaseEndpoint, self.firebaseEndpoint) {
            guard let given = FirebaseEndpoint(text) else {
                throw settings.failure(
                    .firebaseEndpoint, "must be an https URL, or an http URL on this machine, and is \(text)")
            }
            endpoint = given
        }
        let files = settings.list(.firebaseCredentials, self.firebaseCredentials)
        var accounts: [ServiceAccount] = []
        for file in files {
            let account = try Self.account(file, endpoint)
            guard !accounts.contains(where: { $0.project == account.project }) else {
                throw CommandFailure(
                    "\(file) is a second account of the project \(account.project): give only one", status: .usage)
            }
            accounts.append(account)
        }
        return FirebaseConfiguration(
            accounts: accounts, endpoint: endpoint,
            interval: try settings.number(.firebaseInterval, self.firebaseInterval, or: 300, in: 1...86_400))
    }

    /// Reads a key file that only its owner may read.
    private static func account(_ file: String, _ endpoint: FirebaseEndpoint) throws -> ServiceAccount {
        let data: [UInt8]
        do throws(PrivateFile.Failure) { data = try PrivateFile.read(file) } catch {
            throw CommandFailure(error, "the service account's key", file)
        }
        do throws(ServiceAccount.Malformed) { return try ServiceAccount(data, endpoint: endpoint) } catch {
            throw CommandFailure(
                "\(file) \(error)", advice: "Create a key for the account in Google's console, and give its JSON file.")
        }
    }
}
