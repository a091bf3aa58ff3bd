import Foundation
import PinWire

/// The present state of apps as a file with specs: what `pinledger export yaml` writes.
enum SpecExport {
    /// One file with an app, or with all that are in use.
    ///
    /// - Parameter app: Nil for all.
    static func text(of app: String?, _ client: APIClient) async throws -> String {
        var specs: [JSON] = []
        for app in try await Self.apps(app, client) { specs.append(try await Self.spec(of: app, client)) }
        return try Self.text(of: specs)
    }

    /// Writes a file for each app, `ID.yaml`, into a directory, which is created if it does not exist.
    ///
    /// Files are replaced one by one: where the command ends in the middle, those that are there are whole.
    ///
    /// - Parameter shares: Whether to write ``sharedName`` as well.
    static func write(_ app: String?, shares: Bool, into directory: String, _ client: APIClient) async throws {
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch { throw CommandFailure("\(directory) cannot be created: \(error.localizedDescription)") }
        if shares { try Self.write(try await Self.sharedText(client), Self.sharedName, into: directory) }
        for app in try await Self.apps(app, client) {
            try Self.write(
                try Self.text(of: [try await Self.spec(of: app, client)]), "\(app).yaml", into: directory)
        }
    }

    private static func write(_ text: String, _ name: String, into directory: String) throws {
        let path = URL(fileURLWithPath: directory).appendingPathComponent(name)
        do { try Data(text.utf8).write(to: path, options: .atomic) } catch {
            throw CommandFailure("\(path.path) cannot be written: \(error.localizedDescription)")
        }
    }

    /// The file of what apps share. No app has an id with this beginning.
    private static let sharedName = "_shared.yaml"

    /// What apps share, as a file with specs.
    static func sharedText(_ client: APIClient) async throws -> String {
        try YAMLText.text(of: .object(try await SharedSpec.present(client)))
    }

    private static func apps(_ app: String?, _ client: APIClient) async throws -> [String] {
        if let app {
            do { return [try AppID(app).text] } catch {
                throw CommandFailure("the app's id \(error)", status: .usage)
            }
        }
        return try await AppPages.ids(client)
    }

    private static func spec(of app: String, _ client: APIClient) async throws -> JSON {
        var members = try await client.get("/v1/apps/\(APIClient.escaped(app))/spec").objectValue ?? [:]
        members["app"] = .string(app)
        return .object(members)
    }

    private static func text(of specs: [JSON]) throws -> String {
        try YAMLText.text(of: ["apps": .array(specs)])
    }
}
