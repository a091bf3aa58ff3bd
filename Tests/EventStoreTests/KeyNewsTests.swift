import Fixtures
import Testing
import TransparencyLog

@testable import EventStore

struct KeyNewsTests {
    private static func key(_ id: UInt8) -> BatchKey {
        BatchKey(id: [UInt8](repeating: id, count: 8)) { MerkleTree.leafHash([id] + $0).bytes }
    }

    @Test func `the log says once that the key was changed, and once that the node has the one in force`() {
        let (old, new) = (Self.key(1), Self.key(2))
        func said(_ keys: BatchKeys) -> [String] {
            let (ledger, log) = (Ledger(keys: keys), LogRecorder())
            var news = KeyNews(of: ledger)
            for key in [old, new, new, old] {
                ledger.noteKey(of: StoredEnd(head: Head(), mac: key.mac(of: Head())))
                news.look(at: ledger, log.logger)
            }
            return log.text.map { String($0.prefix { $0 != " " }) }
        }
        #expect(said(BatchKeys(old)) == ["critical", "notice"])
        #expect(said(BatchKeys(old, beside: [new])) == ["notice", "notice"])
    }
}
