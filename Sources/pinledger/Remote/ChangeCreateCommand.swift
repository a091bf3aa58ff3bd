import ArgumentParser
import PinWire

extension ChangeCommands {
    /// One change made of several operations of the API.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Propose one change made of several operations, from a file.",
            discussion: """
                pinledger change create --from plan.yaml

                The file, in YAML or JSON, has `reason` and `operations`: a list with `method`, `path` and `body` of \
                operations of the API, in their order. All of them are applied together, or none.
                """,
            aliases: ["new"])
        @Option(help: ArgumentHelp("File with the operations, - for standard input.", valueName: "file")) var from:
            String
        @Flag(help: "Leave it as a draft, which is not open for approvals yet.") var draft = false
        @Option(
            help: ArgumentHelp(
                "Have the server apply it at this time (\(TimeInput.moments) or 12h).", valueName: "time"))
        var notBefore: String?
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let file = try OperationFile(path: self.from)
            try await self.remote.withClient { client in
                let draft = try await DraftedChange.gather(Array(file.operations.enumerated()), client) { each, draft in
                    let (place, operation) = each
                    var options = ChangeOptions.none
                    options.reason = file.reason
                    options.force = file.isForced
                    options.proposal.addTo = draft
                    options.proposal.notBefore = place == 0 ? self.notBefore : nil
                    return DraftedChange.Part(
                        name: "operation \(place + 1) (\(operation.method) \(operation.path))",
                        method: operation.method, path: operation.path, body: operation.body, options: options)
                }
                if !self.draft { try await draft.propose(client) }
                let change = try await client.get(ChangeCommands.path(draft.id))
                guard self.remote.output.isTable else { return Console.print(change, self.remote.output) }
                ChangeText.print(change)
            }
        }
    }
}

/// A file with operations of the API, in YAML or JSON.
struct OperationFile {
    struct Operation {
        var method: String
        var path: String
        var body: [String: JSON]
    }

    let reason: String
    let isForced: Bool
    let operations: [Operation]

    /// - Parameter path: `-` for standard input.
    init(path: String) throws {
        let file = try YAMLFile(path: path)
        (self.reason, self.isForced, self.operations) = try file.read { (m) throws(JSONDefect) in
            var operations: [Operation] = []
            for field in try m.required("operations").elements(atMost: 50) {
                operations.append(try Self.operation(field))
            }
            return (try m.required("reason").string(), try m.optional("force")?.bool() ?? false, operations)
        }
        guard !self.operations.isEmpty else { throw CommandFailure("\(path) has no operations", status: .usage) }
    }

    private static func operation(_ field: JSONField) throws(JSONDefect) -> Operation {
        try field.object { (m) throws(JSONDefect) in
            let method = try m.required("method")
            let name = try method.string().uppercased()
            guard ["POST", "PUT", "PATCH", "DELETE"].contains(name) else {
                throw method.defect("must be POST, PUT, PATCH or DELETE")
            }
            let path = try m.required("path")
            let text = try path.string()
            guard text.hasPrefix("/v1/"), !text.contains("?"), !text.contains("#") else {
                throw path.defect(
                    "must be the path of an operation, such as /v1/apps/com.example.shop, without a query")
            }
            var body: [String: JSON] = [:]
            if let given = m.optional("body") {
                guard let members = given.value.objectValue else { throw given.defect("must be an object") }
                body = members
            }
            return Operation(method: name, path: text, body: body)
        }
    }
}
