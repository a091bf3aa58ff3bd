import PinWire
import Testing
import TransparencyLog

@testable import EventStore

@Suite struct `Recent entries` {
    private let all = (0..<40).map { Array("{\"n\":\($0)}".utf8) }

    private func head(_ count: Int) -> Head {
        Head(
            position: Int64(count),
            frontier: MerkleFrontier(leaves: self.all.prefix(count).map { MerkleTree.leafHash($0) }),
            lastTime: Timestamp(microseconds: 0))
    }

    @Test func `entries are held in order until they are dropped`() {
        var recent = RecentEntries(after: self.head(3).frontier)
        recent.take(Array(self.all[3..<5]), from: self.head(3), to: self.head(5))
        recent.take(Array(self.all[5..<9]), from: self.head(5), to: self.head(9))
        #expect(recent.start == self.head(3).frontier && recent.entries == Array(self.all[3..<9]))
        recent.drop(before: self.head(7).frontier)
        #expect(recent.start == self.head(7).frontier && recent.entries == Array(self.all[7..<9]))
        // Already dropped, and not there yet.
        recent.drop(before: self.head(4).frontier)
        recent.drop(before: self.head(10).frontier)
        #expect(recent.start == self.head(7).frontier && recent.entries == Array(self.all[7..<9]))
        recent.drop(before: self.head(9).frontier)
        #expect(recent.start == self.head(9).frontier && recent.entries.isEmpty)
    }

    @Test(arguments: [nil, [], Array("{}".utf8)] as [[UInt8]?])
    func `the entries held begin again behind some that are missing`(only entry: [UInt8]?) {
        var recent = RecentEntries(after: self.head(3).frontier)
        recent.take(entry.map { [$0] }, from: self.head(3), to: self.head(9))
        #expect(recent.start == self.head(9).frontier && recent.entries.isEmpty)
        recent.take([self.all[9]], from: self.head(9), to: self.head(10))
        #expect(recent.entries == [self.all[9]])
        // Entries between are missing.
        recent.take([self.all[12]], from: self.head(12), to: self.head(13))
        #expect(recent.start == self.head(13).frontier && recent.entries.isEmpty)
    }

    @Test func `above the limit the older ones are dropped, and the rest stays whole`() {
        var recent = RecentEntries(after: self.head(0).frontier, sizeLimit: 100)
        for count in 1...40 {
            recent.take([self.all[count - 1]], from: self.head(count - 1), to: self.head(count))
            #expect(recent.entries.reduce(0) { $0 + $1.count } <= 100)
            let start = Int(recent.start.size)
            #expect(recent.start == self.head(start).frontier && recent.entries == Array(self.all[start..<count]))
        }
        #expect(recent.start.size > 0 && !recent.entries.isEmpty)
    }
}
