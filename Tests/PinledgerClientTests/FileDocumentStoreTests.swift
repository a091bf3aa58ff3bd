import Foundation
import Testing

@testable import PinledgerClient

@Suite("The store in a file")
struct FileDocumentStoreTests {
    private func withDirectory(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory)
    }

    @Test("A file is what was written last, readable by its owner alone")
    func writes() async throws {
        try await self.withDirectory { directory in
            let store = FileDocumentStore(path: directory.appending(path: "document").path)
            #expect(try await store.read() == nil)
            for bytes in [[1, 2, 3], [], [UInt8](repeating: 7, count: 1 << 20)] as [[UInt8]] {
                try await store.write(bytes)
                #expect(try await store.read() == bytes)
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: store.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["document"])
        }
    }

    @Test("A write that fails leaves what was there, and no draft")
    func fails() async throws {
        try await self.withDirectory { directory in
            let missing = FileDocumentStore(path: directory.appending(path: "none/document").path)
            await #expect(throws: FileDocumentStore.Failure.self) { try await missing.write([1]) }
            #expect(try await missing.read() == nil)
            // A directory with a file in it cannot be replaced by a file.
            let place = directory.appending(path: "document")
            try FileManager.default.createDirectory(
                at: place.appending(path: "inside"), withIntermediateDirectories: true)
            let store = FileDocumentStore(path: place.path)
            await #expect(throws: FileDocumentStore.Failure.self) { try await store.write([1]) }
            await #expect(throws: FileDocumentStore.Failure.self) { try await store.read() }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["document"])
        }
    }

    @Test("A file that is too long for any document counts as nothing")
    func tooLong() async throws {
        try await self.withDirectory { directory in
            let store = FileDocumentStore(path: directory.appending(path: "document").path)
            try await store.write([UInt8](repeating: 65, count: DocumentVerifier.byteLimit))
            #expect(try await store.read()?.count == DocumentVerifier.byteLimit)
            try await store.write([UInt8](repeating: 65, count: DocumentVerifier.byteLimit + 1))
            #expect(try await store.read() == nil)
        }
    }

    @Test("A process that died in the middle of a write has left the document from before")
    func crash() async throws {
        try await self.withDirectory { directory in
            let store = FileDocumentStore(path: directory.appending(path: "document").path)
            try await store.write([1, 2, 3])
            for length in 0...64 {
                // What a write leaves behind when it ends after any byte: its draft.
                try Data(repeating: 9, count: length).write(to: directory.appending(path: "document.1.\(length).new"))
                #expect(try await store.read() == [1, 2, 3])
            }
            try await store.write([4])
            #expect(try await store.read() == [4])
        }
    }

    @Test("Writers at the same time leave one of their documents whole")
    func concurrent() async throws {
        try await self.withDirectory { directory in
            let store = FileDocumentStore(path: directory.appending(path: "document").path)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in UInt8(0)..<16 {
                    group.addTask { try await store.write([UInt8](repeating: number, count: 100_000)) }
                }
                try await group.waitForAll()
            }
            let bytes = try #require(try await store.read())
            #expect(bytes.count == 100_000 && Set(bytes).count == 1)
        }
    }
}
