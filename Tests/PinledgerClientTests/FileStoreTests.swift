import Foundation
import Testing

@testable import PinledgerClient

@Suite("The store in a file")
struct FileStoreTests {
    private func withDirectory(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory)
    }

    @Test("A file is what was written last, readable by its owner alone")
    func writes() async throws {
        try await self.withDirectory { directory in
            let store = FileStore(path: directory.appending(path: "document").path)
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
            let missing = FileStore(path: directory.appending(path: "none/document").path)
            await #expect(throws: FileStore.Failure.self) { try await missing.write([1]) }
            #expect(try await missing.read() == nil)
            // A directory with a file in it cannot be replaced by a file.
            let place = directory.appending(path: "document")
            try FileManager.default.createDirectory(
                at: place.appending(path: "inside"), withIntermediateDirectories: true)
            let store = FileStore(path: place.path)
            await #expect(throws: FileStore.Failure.self) { try await store.write([1]) }
            await #expect(throws: FileStore.Failure.self) { try await store.read() }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["document"])
        }
    }

    @Test("A file that is too long for any document counts as nothing")
    func tooLong() async throws {
        try await self.withDirectory { directory in
            let store = FileStore(path: directory.appending(path: "document").path)
            try await store.write([UInt8](repeating: 65, count: StoredState.byteLimit))
            #expect(try await store.read()?.count == StoredState.byteLimit)
            try await store.write([UInt8](repeating: 65, count: StoredState.byteLimit + 1))
            #expect(try await store.read() == nil)
        }
    }

    @Test("A write that is given no more room at any byte fails, and leaves the document from before")
    func room() async throws {
        try await self.withDirectory { directory in
            let path = directory.appending(path: "document").path
            // In a process of its own: the limit holds for all files of a process.
            await #expect(processExitsWith: .success) { [path = path as String] in
                try await writeWithinEachLimit(path)
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(left == ["document"])
        }
    }

    @Test(
        "A process that is killed in the middle of a write leaves the document from before, and the next one cleans up")
    func crash() async throws {
        try await self.withDirectory { directory in
            let path = directory.appending(path: "document").path
            let store = FileStore(path: path)
            try await store.write(Array("before".utf8))
            for written in [0, 1, 599] {
                // What a write has made when its process ends after any byte: its draft.
                await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, written = written as Int] in
                    try Data(repeating: 7, count: written).write(
                        to: URL(filePath: "\(path).\(getpid()).\(written).new"))
                    kill(getpid(), SIGKILL)
                }
                #expect(try await store.read() == Array("before".utf8))
            }
            // A draft of a process that lives is left alone, and so is every other file.
            let others = [
                "document.\(getpid()).1.new", "document.1.new", "document.0.1.new", "other.99999999.1.new",
                "document.x.1.new",
            ]
            for name in others { try Data().write(to: directory.appending(path: name)) }
            let before = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(before.count == 4 + others.count)
            try await store.write([4])
            #expect(try await store.read() == [4])
            let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(Set(left) == Set(others + ["document"]))
        }
    }

    @Test("Writers at the same time leave one of their documents whole")
    func concurrent() async throws {
        try await self.withDirectory { directory in
            let store = FileStore(path: directory.appending(path: "document").path)
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

/// Lets this process write files of so many bytes, and no more.
private func limitFiles(to bytes: Int) {
    var size = rlimit(rlim_cur: rlim_t(bytes), rlim_max: .max)
    precondition(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &size) == 0)
}

/// Writes a document with room for each number of bytes that is too few, and then with enough.
private func writeWithinEachLimit(_ path: String) async throws {
    struct Unexpected: Error {}
    // Otherwise the system would end this process.
    signal(SIGXFSZ, SIG_IGN)
    let store = FileStore(path: path)
    let before = Array("before".utf8)
    try await store.write(before)
    let document = [UInt8](repeating: 7, count: 600)
    for limit in document.indices {
        limitFiles(to: limit)
        do {
            try await store.write(document)
            throw Unexpected()
        } catch is FileStore.Failure {}
        guard try await store.read() == before else { throw Unexpected() }
    }
    limitFiles(to: document.count)
    try await store.write(document)
    guard try await store.read() == document else { throw Unexpected() }
}
