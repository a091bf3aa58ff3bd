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

    private func file(_ key: KeyEncryptionKey?) -> NodeMemoryFile { NodeMemoryFile(directory: "/nowhere", key: key) }

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
