import ArgumentParser
import Foundation
import PinWire
import Yams

extension ChangeCommands {
    /// One change made of several operations of the API.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Propose one change made of several operations, from a file.",
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
                let id = try await self.gather(file, client)
                if !self.draft {
                    do {
                        _ = try await client.change("POST", ChangeCommands.path(id, "propose"), [:], .none)
                    } catch let failure as CommandFailure {
                        throw Self.failure(failure, leaving: id, "the change is gathered, and not proposed")
                    }
                }
                let change = try await client.get(ChangeCommands.path(id))
                guard self.remote.output == .table else { return Console.print(change.canonicalText) }
                ChangeText.print(change)
            }
        }

        /// Adds each operation to one draft, whose id it returns. A draft of which a part is missing is withdrawn.
        private func gather(_ file: OperationFile, _ client: APIClient) async throws -> String {
            var id: String?
            for (place, operation) in file.operations.enumerated() {
                var options = ChangeOptions.none
                options.reason = file.reason
                options.force = file.isForced
                options.addTo = id ?? "draft"
                options.notBefore = id == nil ? self.notBefore : nil
                do {
                    let answer = try await client.change(operation.method, operation.path, operation.body, options)
                    id = answer["change_id"]?.stringValue ?? id
                } catch let failure as CommandFailure {
                    let place = "operation \(place + 1) (\(operation.method) \(operation.path))"
                    guard let id else {
                        throw CommandFailure(
                            "\(place): \(failure.message)", advice: failure.advice, status: failure.status)
                    }
                    do {
                        _ = try await client.change("POST", ChangeCommands.path(id, "withdraw"), [:], .none)
                    } catch { throw Self.failure(failure, leaving: id, place) }
                    throw CommandFailure(
                        "\(place): \(failure.message)", advice: failure.advice, status: failure.status)
                }
            }
            guard let id else { throw CommandFailure("the server did not name the change") }
            return id
        }

        private static func failure(_ failure: CommandFailure, leaving id: String, _ place: String) -> CommandFailure {
            CommandFailure(
                "\(place): \(failure.message)",
                advice:
                    "The draft \(id) is left: look at it with `pinledger change show \(id)`, propose it, or withdraw it.",
                status: failure.status)
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

    private static let byteLimit = 1_048_576
    /// The most values, those that aliases repeat included.
    private static let valueLimit = 100_000

    /// - Parameter path: `-` for standard input.
    init(path: String) throws {
        let handle: FileHandle
        if path == "-" {
            handle = .standardInput
        } else {
            guard let opened = FileHandle(forReadingAtPath: path) else {
                throw CommandFailure("\(path) cannot be read", status: .usage)
            }
            handle = opened
        }
        var data = Data()
        while data.count <= Self.byteLimit, let more = try handle.read(upToCount: 65_536), !more.isEmpty {
            data += more
        }
        guard data.count <= Self.byteLimit, let text = String(streamSafe: [UInt8](data)) else {
            throw CommandFailure("\(path) is not text of at most 1 MiB", status: .usage)
        }
        let node: Yams.Node?
        do { node = try Yams.compose(yaml: text) } catch {
            throw CommandFailure("\(path) is neither YAML nor JSON: \(error)", status: .usage)
        }
        var count = 0
        guard let node, let json = Self.json(of: node, &count) else {
            throw CommandFailure("\(path) holds no values, or more than \(Self.valueLimit)", status: .usage)
        }
        do {
            (self.reason, self.isForced, self.operations) = try JSONField(json).object { (m) throws(JSONDefect) in
                var operations: [Operation] = []
                for field in try m.required("operations").elements(atMost: 50) {
                    operations.append(try Self.operation(field))
                }
                return (try m.required("reason").string(), try m.optional("force")?.bool() ?? false, operations)
            }
        } catch { throw CommandFailure("\(path): \(error)", status: .usage) }
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

    /// A value of YAML by the rules of its JSON schema (YAML 1.2.2, section 10.2): `off` and `no` are texts. Nil where there are too
    /// many values.
    private static func json(of node: Yams.Node, _ count: inout Int) -> JSON? {
        count += 1
        guard count <= Self.valueLimit else { return nil }
        switch node {
        case .scalar(let scalar):
            guard scalar.style == .plain else { return .string(scalar.string) }
            switch scalar.string {
            case "true": return true
            case "false": return false
            case "null", "~", "": return .null
            case let text: return Int64(text).map { .integer($0) } ?? .string(text)
            }
        case .sequence(let sequence):
            var list: [JSON] = []
            for element in sequence {
                guard let value = Self.json(of: element, &count) else { return nil }
                list.append(value)
            }
            return .array(list)
        case .mapping(let mapping):
            var members: [String: JSON] = [:]
            for (key, element) in mapping {
                guard let name = key.string, let value = Self.json(of: element, &count) else { return nil }
                members[name] = value
            }
            return .object(members)
        case .alias: return nil
        }
    }
}
