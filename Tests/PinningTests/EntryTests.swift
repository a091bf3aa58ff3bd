import Foundation
import PinWire
import Pinning
import Testing

@Suite struct `An entry` {
    /// The data of all golden lines, by the event's type.
    private static func goldenData() throws -> [String: [[String: JSON]]] {
        var data: [String: [[String: JSON]]] = [:]
        for line in GoldenEvents.lines {
            let json = try JSON(parsing: line)
            data[json["type"]?.stringValue ?? "", default: []].append(try #require(json["data"]?.objectValue))
        }
        return data
    }

    @Test func `every declared type has a golden line, and no line has another type`() throws {
        #expect(Set(try Self.goldenData().keys) == Set(Event.types))
        #expect(Event.types == Set(Event.types).sorted())
        for (name, entry) in examples {
            #expect(name.split(separator: ".").first.map(String.init) == entry.event.type)
        }
    }

    @Test(arguments: Event.kinds)
    func `every type has golden lines with and without each optional member`(kind: EventKind) throws {
        let lines = try #require(try Self.goldenData()[kind.type])
        for field in kind.fields where field.isOptional {
            #expect(lines.contains { $0[field.name] != nil }, "\(kind.type) with \(field.name)")
            #expect(lines.contains { $0[field.name] == nil }, "\(kind.type) without \(field.name)")
        }
        #expect(kind.fields.map(\.name) == kind.fields.map(\.name).sorted(), "fields stand in canonical order")
        #expect(kind.fields.count <= 1 || !kind.fields.contains { $0.name.isEmpty })
    }

    /// The compiler asks for a declaration of every event, and this for its place in a list `all`.
    @Test func `every declaration is in a list of all declarations`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/Pinning")
        let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path())
        var declared: [String] = []
        for file in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
            declared += text.matches(of: /EventDeclaration\(\s*"(\w+)"/).map { String($0.1) }
        }
        // A type has a declaration for each of its forms.
        #expect(Set(declared).sorted() == Event.types)
    }

    @Test(arguments: GoldenEvents.lines)
    func `an entry of a golden line is written as it was read`(line: [UInt8]) throws {
        let text = GoldenEvents.text(line)
        let entry = try Entry(canonical: line)
        #expect(GoldenEvents.text(entry.bytes) == text && entry.json.canonicalText == text)
        #expect(try JSON(parsing: line).canonicalText == text)
    }

    @Test(arguments: examples.keys.sorted())
    func `an entry in its golden line reads back`(name: String) throws {
        let entry = try #require(examples[name])
        let line = try #require(GoldenEvents.lines.first { $0 == entry.bytes }, "\(name): \(entry.bytes)")
        #expect(try Entry(bytes: line) == entry)
    }

    /// An example's members with one of them changed.
    private func changed(_ name: String, _ change: (inout [String: JSON]) -> Void) throws -> [UInt8] {
        let entry = try #require(examples[name])
        var members = try #require(try JSON(parsing: entry.bytes).objectValue)
        change(&members)
        return JSON.object(members).canonicalBytes
    }

    private func defect(_ bytes: [UInt8]) -> String? {
        do {
            _ = try Entry(bytes: bytes)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(arguments: examples.keys.sorted())
    func `an entry with an unknown member anywhere is refused with its name`(name: String) throws {
        let outside = try self.changed(name) { $0["extra"] = 1 }
        #expect(self.defect(outside)?.hasPrefix("/extra: is not a member here") == true)
        let inside = try self.changed(name) { members in
            guard case .object(var data)? = members["data"] else { return }
            data["extra"] = 1
            members["data"] = .object(data)
        }
        #expect(self.defect(inside)?.hasPrefix("/data/extra: is not a member here") == true)
        let actor = try self.changed(name) { $0["actor"] = ["kind": "token", "id": "a", "name": "b", "mail": "c"] }
        #expect(self.defect(actor)?.hasPrefix("/actor/mail: is not a member here") == true)
    }

    @Test func `an entry of an unknown type, schema or stream, or of another shape, is refused`() throws {
        let changes: [(defect: String, change: (inout [String: JSON]) -> Void)] = [
            ("/type: is PinLost, which this program does not know", { $0["type"] = "PinLost" }),
            ("/type: is pinActivated, which this program does not know", { $0["type"] = "pinActivated" }),
            ("/schema: is 2, which this program does not know", { $0["schema"] = 2 }),
            ("/schema: must be from 1 to 1000000, and is 0", { $0["schema"] = 0 }),
            ("/stream: names no stream", { $0["stream"] = "app/" }),
            ("/stream: names no stream", { $0["stream"] = "change/1" }),
            ("/position: must be from 0", { $0["position"] = -1 }),
            ("/position: is required", { $0["position"] = nil }),
            ("/stream_version: is required", { $0["stream_version"] = nil }),
            ("/time: must be a time", { $0["time"] = "noon" }),
            ("/decided_at: must be a time", { $0["decided_at"] = "noon" }),
            ("/decided_at: is not earlier than time", { $0["decided_at"] = $0["time"] }),
            ("/data: is required", { $0["data"] = nil }), ("/data: must be an object", { $0["data"] = [] }),
            ("/data/host: is required", { $0["data"] = .object([:]) }), ("/actor: is required", { $0["actor"] = nil }),
            ("/actor/kind: must be one of", { $0["actor"] = ["kind": "ghost", "id": "a", "name": "b"] }),
            ("/forced: must be true or false", { $0["forced"] = 1 }),
            ("/reason: must be a string", { $0["reason"] = 1 }),
            (
                "/data/pin: must be sha256/",
                { $0["data"] = ["host": "a.example", "policy": "baseline", "pin": "sha256/AAAA"] }
            ),
            (
                "/data/policy: must be one of",
                { $0["data"] = ["host": "a.example", "policy": "both", "pin": .string(pin(1).description)] }
            ),
        ]
        for (expected, change) in changes {
            let found = self.defect(try self.changed("PinActivated", change))
            #expect(found?.hasPrefix(expected) == true, "\(expected): \(found ?? "accepted")")
        }
        #expect(self.defect(Array("{}x".utf8))?.contains("there is more after the end") == true)
        #expect(self.defect([]) != nil && self.defect(Array("[]".utf8)) != nil)
        let key = try self.changed("SigningKeyCreated") {
            $0["data"] = ["kid": "k", "alg": "ES256", "public_key": "AA"]
        }
        #expect(self.defect(key)?.hasPrefix("/data/alg: must be EdDSA") == true)
        let short = try self.changed("SigningKeyCreated") {
            $0["data"] = ["kid": "k", "alg": "EdDSA", "public_key": "AA"]
        }
        #expect(self.defect(short)?.hasPrefix("/data/public_key: must be 32 bytes") == true)
        let token = try self.changed("TokenIssued") {
            $0["data"] = ["token_id": "t", "name": "n", "sha256": "AA", "expires_at": "2026-01-31T12:00:00Z"]
        }
        #expect(self.defect(token)?.hasPrefix("/data/sha256: must be 64 hexadecimal digits") == true)
    }

    @Test func `an entry keeps a reason that would not be accepted today`() throws {
        let bytes = try self.changed("PinActivated") { $0["reason"] = "\u{E000}" }
        #expect(try Entry(bytes: bytes).bytes == bytes)
        #expect(throws: Reason.Malformed.self) { try Reason("\u{E000}") }
    }
}
