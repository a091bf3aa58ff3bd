import Foundation
import PinWire
import Testing
import TransparencyLog

@testable import Publishing

@Suite struct `A journal of events` {
    private let entries = (0..<9).map { Array("{\"n\":\($0)}".utf8) }

    private func frontier(_ count: Int) -> MerkleFrontier {
        MerkleFrontier(leaves: self.entries.prefix(count).map { MerkleTree.leafHash($0) })
    }

    /// A journal that begins behind the first four of nine events.
    private var journal: EventJournal {
        EventJournal(start: self.frontier(4), entries: Array(self.entries.dropFirst(4)))
    }

    private func end(_ count: Int) -> NodeMemory.JournalEnd {
        .init(position: Int64(count), root: self.frontier(count).root)
    }

    @Test func `a journal is read as it was written, up to the end that the memory states`() throws {
        for count in 4...9 {
            let read = try EventJournal(bytes: self.journal.bytes).verified(upTo: self.end(count))
            #expect(read.start == self.frontier(4) && read.end == self.frontier(count))
            #expect(read.entries == Array(self.entries[4..<count]))
        }
    }

    @Test func `a journal that was cut off anywhere is as good as before, or known to be short`() throws {
        let bytes = self.journal.bytes
        let header = EventJournal.header(self.frontier(4)).count
        for length in bytes.indices {
            let cut = Array(bytes[..<length])
            guard length >= header else {
                #expect(throws: EventJournal.Defect.self) { try EventJournal(bytes: cut) }
                continue
            }
            let count = try EventJournal(bytes: cut).entries.count
            #expect(count == bytes[header..<length].count { $0 == UInt8(ascii: "\n") })
            if count < 5 {
                #expect(throws: EventJournal.Defect.short(Int64(4 + count))) {
                    try EventJournal(bytes: cut).verified(upTo: self.end(9))
                }
            }
        }
    }

    @Test func `every changed byte of a journal is noticed`() throws {
        let bytes = self.journal.bytes
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(throws: EventJournal.Defect.self, "byte \(index)") {
                try EventJournal(bytes: changed).verified(upTo: self.end(9))
            }
        }
    }

    @Test func `a journal without its older half has the same end`() {
        let halved = self.journal.halved
        #expect(halved.entries == Array(self.entries.dropFirst(6)))
        #expect(halved.start == self.frontier(6) && halved.end == self.frontier(9))
    }

    @Test(arguments: [
        "", "{}\n", "[]\n", "{\"form\":2,\"frontier\":\"\",\"position\":0}\n",
        "{\"form\":1,\"frontier\":\"\",\"position\":1}\n",
    ])
    func `a text that is no journal is refused`(text: String) {
        #expect(throws: EventJournal.Defect.self) { try EventJournal(bytes: Array(text.utf8)) }
    }

    @Test func `a journal file keeps what is added, and drops the older half past its limit`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let file = EventJournalFile(directory: directory, sizeLimit: 90)
        var memory = NodeMemory(position: 9, root: self.frontier(9).root)
        #expect(try await file.read(memory) == nil)
        var size = try await file.write(EventJournal(start: self.frontier(0)))
        for count in 1...9 {
            size = try await file.append([self.entries[count - 1]], to: size)
            memory.journal = self.end(count)
            let read = try #require(try await file.read(memory))
            #expect(read.end == self.frontier(count) && read.entries.last == self.entries[count - 1])
        }
        let read = try #require(try await file.read(memory))
        #expect(read.start.size > 0 && size <= 260)
    }
}
