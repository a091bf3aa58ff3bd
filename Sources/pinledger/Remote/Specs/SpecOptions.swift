import ArgumentParser
import PinWire

/// The flags by which `plan` and `apply` find the declared state.
struct SpecOptions: ParsableArguments {
    @Option(
        name: [.customShort("f"), .long],
        help: ArgumentHelp(
            "File with specs in YAML or JSON, directory with such files, or - for standard input. May be repeated.",
            valueName: "path"))
    var file: [String] = []

    @Flag(
        help:
            "Remove what the specs leave out: hosts, pins, clients, roles, grants, rules and webhooks that a given list does not have, candidates, settings."
    )
    var prune = false

    @Flag(help: "Archive all apps that no spec is about.") var archiveOthers = false

    /// The specs, and those that archive all other apps where that is asked.
    func specs(_ client: APIClient) async throws -> (apps: [SpecFiles.Spec], shared: SharedSpec) {
        guard !self.file.isEmpty else {
            throw CommandFailure("no file is given", advice: "Give --file FILE, or --file DIRECTORY.", status: .usage)
        }
        let files = try SpecFiles(paths: self.file)
        var specs = files.specs
        guard self.archiveOthers else { return (specs, files.shared) }
        guard !specs.isEmpty else {
            throw CommandFailure(
                "--archive-others would archive all apps: the files are about none", status: .usage)
        }
        let known = Set(specs.map(\.app))
        for app in try await AppPages.ids(client) where !known.contains(app) {
            specs.append(SpecFiles.Spec(app: app, members: ["archived": true]))
        }
        return (specs, files.shared)
    }
}

/// The apps that are in use, page by page.
enum AppPages {
    /// - Throws: ``CommandFailure``; `AppID.Malformed` where the server names no apps.
    static func ids(_ client: APIClient) async throws -> [String] {
        var ids: [String] = []
        var cursor: String?
        repeat {
            let page = try await client.get(
                "/v1/apps?limit=1000" + (cursor.map { "&cursor=\(APIClient.escaped($0))" } ?? ""))
            // An id becomes a part of paths, of which some are files.
            ids += try (page["apps"]?.arrayValue ?? []).map { try AppID($0.text("app")).text }
            cursor = page["next_cursor"]?.stringValue
        } while cursor != nil
        return ids
    }
}
