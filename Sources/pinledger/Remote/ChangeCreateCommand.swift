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
                var id: String?
                do {
                    for (place, operation) in file.operations.enumerated() {
                        var options = ChangeOptions.none
                        options.reason = file.reason
                        options.force = file.isForced
                        options.addTo = id ?? "draft"
                        options.notBefore = id == nil ? self.notBefore : nil
                        do {
                            let answer = try await client.change(
                                operation.method, operation.path, operation.body, options)
                            id = answer["change_id"]?.stringValue
                        } catch let failure as CommandFailure {
                            throw CommandFailure(
                                "operation \(place + 1) (\(operation.method) \(operation.path)): \(failure.message)",
                                advice: failure.advice, status: failure.status)
                        }
                    }
                } catch {
                    // A part of a change helps nobody.
                    if let id {
                        _ = try? await client.change("POST", ChangeCommands.path(id, "withdraw"), [:], .none)
                    }
                    throw error
                }
                guard let id else { return }
                if !self.draft {
                    _ = try await client.change("POST", ChangeCommands.path(id, "propose"), [:], .none)
                }
                let change = try await client.get(ChangeCommands.path(id))
                guard self.remote.output == .table else { return Console.print(change.canonicalText) }
                ChangeText.print(change)
            }
        }
    }
}

/// A file with operations of the API.
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
        let data =
            path == "-"
            ? FileHandle.standardInput.readDataToEndOfFile() : try Data(contentsOf: URL(fileURLWithPath: path))
        guard data.count <= 1_048_576, let text = String(streamSafe: [UInt8](data)) else {
            throw CommandFailure("\(path) is not text of at most 1 MiB", status: .usage)
        }
        let json: JSON
        do { json = try Self.json(of: try Yams.load(yaml: text)) } catch let failure as CommandFailure {
            throw failure
        } catch { throw CommandFailure("\(path) is neither YAML nor JSON: \(error)", status: .usage) }
        do {
            (self.reason, self.isForced, self.operations) = try JSONField(json).object { (m) throws(JSONDefect) in
                var operations: [Operation] = []
                for field in try m.required("operations").elements(atMost: 50) {
                    operations.append(
                        try field.object { (m) throws(JSONDefect) in
                            Operation(
                                method: try m.required("method").string().uppercased(),
                                path: try m.required("path").string(),
                                body: m.optional("body")?.value.objectValue ?? [:])
                        })
                }
                return (try m.required("reason").string(), try m.optional("force")?.bool() ?? false, operations)
            }
        } catch { throw CommandFailure("\(path): \(error)", status: .usage) }
        guard !self.operations.isEmpty else { throw CommandFailure("\(path) has no operations", status: .usage) }
    }

    private static func json(of value: Any?) throws -> JSON {
        switch value {
        case nil, is NSNull: .null
        case let flag as Bool: .bool(flag)
        case let number as Int: .integer(Int64(number))
        case let text as String: .string(text)
        case let time as Date: .string(Timestamp(seconds: Int64(time.timeIntervalSince1970)).rfc3339)
        case let list as [Any]: .array(try list.map { try Self.json(of: $0) })
        case let members as [String: Any]: .object(try members.mapValues { try Self.json(of: $0) })
        default: throw CommandFailure("a value is neither text, number, list nor mapping", status: .usage)
        }
    }
}
