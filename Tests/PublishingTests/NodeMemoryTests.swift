import EventStore
import Keys
import PinWire
import Testing
import TransparencyLog

@testable import Publishing

@Suite("A node's memory")
struct NodeMemoryTests {
    private func memory() throws -> NodeMemory {
        NodeMemory(
            position: 300, root: MerkleTree.leafHash([1]), epoch: 2,
            documents: [
                try AppID("com.example.shop"): .init(version: 7, contentDigest: [UInt8](repeating: 0xab, count: 32))
            ],
            keys: ["k1": [UInt8](repeating: 0xcd, count: 32)],
            journal: .init(position: 299, root: MerkleTree.leafHash([2])),
            database: DatabaseIdentity(systemIdentifier: "7434211234567890123", timeline: 3))
    }

    private func file(_ key: KeyEncryptionKey?) -> NodeMemoryFile {
        NodeMemoryFile(directory: "/nowhere", keyEncryptionKeys: key.map { KeyEncryptionKeys($0) })
    }

    @Test func `a memory is read as it was written, with and without a key`() throws {
        let memory = try self.memory()
        let key = try KeyEncryptionKey(Random.bytes(32))
        for key in [key, nil] {
            let content = try self.file(key).content(self.file(key).bytes(memory))
            #expect(content.memory == memory)
            #expect(content.isAuthentic == (key != nil))
        }
    }

    @Test func `a memory that another key authenticates is read, and proves nothing`() throws {
        let bytes = self.file(try KeyEncryptionKey(Random.bytes(32))).bytes(try self.memory())
        let content = try self.file(try KeyEncryptionKey(Random.bytes(32))).content(bytes)
        #expect(content.memory == (try self.memory()))
        #expect(!content.isAuthentic)
    }

    @Test func `every changed byte of an authenticated memory is noticed`() throws {
        let file = self.file(try KeyEncryptionKey(Random.bytes(32)))
        let bytes = file.bytes(try self.memory())
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            // With another key id beside it, it is a memory of another key.
            guard let content = try? file.content(changed) else { continue }
            #expect(!content.isAuthentic, "byte \(index)")
        }
    }

    /// Two additions to the memory, and the bytes of both files.
    private func withAdditions(
        _ key: KeyEncryptionKey?
    ) throws -> (memory: [UInt8], additions: [UInt8], states: [NodeMemory]) {
        let (file, memory) = (self.file(key), try self.memory())
        var states = [memory]
        var bytes = Array("\(Hex.encode(sha256(memory.json)))\n".utf8)
        for number in 1...2 as ClosedRange<Int64> {
            var addition = memory
            addition.position += number
            addition.documents = [
                try AppID("com.example.more"): .init(version: number, contentDigest: [UInt8](repeating: 1, count: 32))
            ]
            bytes += NodeMemoryFile.sealed(
                addition.json, behind: .init(digest: Array(Hex.encode(sha256(memory.json)).utf8)), with: key)
            addition.documents.merge(memory.documents) { $1 }
            states.append(addition)
        }
        return (file.bytes(memory), bytes, states)
    }

    @Test func `a memory is read with all that was added to it`() throws {
        let key = try KeyEncryptionKey(Random.bytes(32))
        for key in [key, nil] {
            let (memory, additions, states) = try self.withAdditions(key)
            let content = try self.file(key).content(memory, additions: additions)
            #expect(content.memory == states[2] && content.isAuthentic == (key != nil))
        }
    }

    @Test func `additions that were cut off anywhere count as far as they are whole`() throws {
        let key = try KeyEncryptionKey(Random.bytes(32))
        let (memory, additions, states) = try self.withAdditions(key)
        for length in additions.indices {
            let content = try self.file(key).content(memory, additions: Array(additions[..<length]))
            let lines = additions[..<length].count { $0 == UInt8(ascii: "\n") }
            #expect(content.memory == states[max(0, lines - 1) / 2], "\(length) bytes")
        }
    }

    @Test func `every changed byte of authenticated additions is noticed`() throws {
        let key = try KeyEncryptionKey(Random.bytes(32))
        let (memory, additions, states) = try self.withAdditions(key)
        for index in additions.indices {
            var changed = additions
            changed[index] ^= 1
            guard let content = try? self.file(key).content(memory, additions: changed) else { continue }
            // Of another memory, of another key, or without a line feed of the last addition, as where it was cut off.
            #expect(!content.isAuthentic || states.prefix(2).contains(content.memory), "byte \(index)")
        }
    }

    @Test func `additions to an earlier memory do not count`() throws {
        let key = try KeyEncryptionKey(Random.bytes(32))
        let (_, additions, states) = try self.withAdditions(key)
        let file = self.file(key)
        #expect(try file.content(file.bytes(states[1]), additions: additions).memory == states[1])
        // Not even where their first line says so.
        let moved = Array("\(Hex.encode(sha256(states[1].json)))\n".utf8) + additions.dropFirst(65)
        #expect(throws: NodeMemoryFile.Failure.self) {
            try file.content(file.bytes(states[1]), additions: moved)
        }
    }

    private static func bytes(_ text: String) -> [UInt8] {
        Array(text.replacing("ROOT", with: Base64.encode([UInt8](repeating: 0, count: 32))).utf8)
    }

    @Test func `a memory in its expected form is read`() throws {
        let good = #"{"documents":{},"epoch":0,"form":1,"position":1,"root":"ROOT"}"#
        #expect(try NodeMemory(json: Self.bytes(good)).position == 1)
    }

    @Test(arguments: [
        #"{"documents":{},"epoch":0,"form":2,"position":1,"root":"ROOT"}"#,
        #"{"documents":{},"epoch":0,"form":1,"position":-1,"root":"ROOT"}"#,
        #"{"documents":{},"epoch":0,"form":1,"position":1,"root":"AAAA"}"#,
        #"{"documents":{"..":{}},"epoch":0,"form":1,"position":1,"root":"ROOT"}"#,
        #"{"documents":{},"form":1,"position":1,"root":"ROOT"}"#,
        #"{"documents":{},"epoch":-1,"form":1,"position":1,"root":"ROOT"}"#,
        #"{"documents":{},"epoch":0,"form":1,"journal":{"position":2,"root":"ROOT"},"position":1,"root":"ROOT"}"#,
        #"{"database":{},"documents":{},"epoch":0,"form":1,"position":1,"root":"ROOT"}"#,
        #"{"documents":{},"epoch":0,"form":1,"keys":{"k1":"AAAA"},"position":1,"root":"ROOT"}"#,
        #"{"documents":{},"epoch":0,"form":1,"keys":[],"position":1,"root":"ROOT"}"#,
        #"{"documents":[],"epoch":0,"form":1,"position":1,"root":"ROOT"}"#,
        #"{"documents":{},"epoch":0,"form":1,"more":1,"position":1,"root":"ROOT"}"#,
        "[]", "", "{",
    ])
    func `a text that is not a memory is refused`(text: String) {
        #expect(throws: JSONDefect.self) { try NodeMemory(json: Self.bytes(text)) }
    }
}
