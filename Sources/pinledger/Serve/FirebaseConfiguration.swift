import Firebase
import Foundation
import Keys

/// A node's settings for keeping Firebase projects in step.
struct FirebaseConfiguration: Sendable {
    /// One for each project.
    var accounts: [ServiceAccount]
    var endpoint: FirebaseEndpoint
    /// Seconds.
    var interval: Int64

    /// Checks the settings, and reads the files.
    init(_ settings: Settings) throws {
        var endpoint = FirebaseEndpoint.google
        if let text = settings.text(.firebaseEndpoint) {
            guard let given = FirebaseEndpoint(text) else {
                throw settings.failure(
                    .firebaseEndpoint, "must be an https URL, or an http URL on this machine, and is \(text)")
            }
            endpoint = given
        }
        let files = settings.list(.firebaseCredentials)
        var accounts: [ServiceAccount] = []
        for file in files {
            let account = try Self.account(file, endpoint)
            guard !accounts.contains(where: { $0.project == account.project }) else {
                throw CommandFailure(
                    "\(file) is a second account of the project \(account.project): give only one", status: .usage)
            }
            accounts.append(account)
        }
        self.accounts = accounts
        self.endpoint = endpoint
        self.interval = Int64(try settings.integer(.firebaseInterval))
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
