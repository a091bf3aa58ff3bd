import PinWire
import SeededRandom
import Testing

@testable import PinledgerClient

@Suite("The journal of an install's reports")
struct ReportJournalTests {
    private let install = InstallID(bytes: [UInt8](0..<16)) ?? .random()
    private let day = Timestamp(seconds: 1_790_035_200)

    private func outcome(
        _ outcome: ConnectionOutcome = .success, host: String = "api.example.com", version: Int64 = 7,
        at time: Timestamp? = nil
    ) throws -> OutcomeReport {
        let decision = DeviceDecision(outcome: .enforce, arm: .baseline, reason: .candidateNone)
        return try #require(
            OutcomeReport(
                host: host, outcome: outcome, decision: decision, version: version, chain: [Fixed.pin(1)],
                at: time ?? self.day))
    }

    @Test(
        "Connections with the same outcome on one day are one outcome, which is told once and told again the next day")
    func once() throws {
        var journal = ReportJournal()
        #expect(journal.note(try self.outcome(), of: self.install) == .added)
        #expect(journal.note(try self.outcome(at: self.day.adding(seconds: 60)), of: self.install) == .counted)
        let batchBatch = journal.batch(holding: 7, at: self.day)
        let batch = try #require(batchBatch)
        #expect(batch.outcomes.map(\.count) == [2] && batch.outcomes[0].time == self.day)
        journal.settle(batch, at: self.day)
        #expect(journal.note(try self.outcome(at: self.day.adding(seconds: 120)), of: self.install) == .none)
        #expect(journal.batch(holding: 7, at: self.day) == nil)
        let next = self.day.adding(seconds: 86_400)
        #expect(journal.note(try self.outcome(at: next), of: self.install) == .added)
        let againBatch = journal.batch(holding: 7, at: next)
        let again = try #require(againBatch)
        #expect(again.outcomes.count == 1 && again.outcomes[0].id != batch.outcomes[0].id)
    }

    @Test("The day's first failure is named as such, once")
    func firstFailure() throws {
        var journal = ReportJournal()
        #expect(journal.note(try self.outcome(), of: self.install) == .added)
        #expect(journal.note(try self.outcome(.failure(.pinMismatch)), of: self.install) == .firstFailure)
        #expect(
            journal.note(try self.outcome(.failure(.pinMismatch), host: "b.example.com"), of: self.install) == .added)
        let next = self.day.adding(seconds: 86_400)
        #expect(journal.note(try self.outcome(.failure(.pinMismatch), at: next), of: self.install) == .firstFailure)
    }

    @Test("A day of very many hosts keeps room for failures, and ends somewhere")
    func room() throws {
        var journal = ReportJournal()
        for number in 0..<600 { _ = journal.note(try self.outcome(host: "h\(number).example.com"), of: self.install) }
        #expect(journal.pending.count == ReportJournal.successLimit)
        for number in 0..<300 {
            _ = journal.note(try self.outcome(.failure(.pinMismatch), host: "h\(number).example.com"), of: self.install)
        }
        #expect(journal.pending.count == ReportJournal.dayLimit)
        var batches = 0
        while let batch = journal.batch(holding: 7, at: self.day) {
            #expect(batch.outcomes.count <= ReportJournal.batchLimit)
            journal.settle(batch, at: self.day)
            batches += 1
        }
        #expect(batches == 5)
        // What was told takes room too: a loop of new hosts cannot make an install report without end.
        #expect(journal.note(try self.outcome(host: "new.example.com"), of: self.install) == .none)
    }

    @Test("Adoption is told once a day for each version that is held, without an outcome too")
    func adoption() throws {
        var journal = ReportJournal()
        let firstBatch = journal.batch(holding: 7, at: self.day)
        let first = try #require(firstBatch)
        #expect(first.outcomes.isEmpty && first.version == 7)
        journal.settle(first, at: self.day)
        #expect(journal.batch(holding: 7, at: self.day) == nil)
        let higherBatch = journal.batch(holding: 8, at: self.day)
        let higher = try #require(higherBatch)
        journal.settle(higher, at: self.day)
        #expect(journal.batch(holding: 8, at: self.day) == nil)
        #expect(journal.batch(holding: 8, at: self.day.adding(seconds: 86_400)) != nil)
        #expect(journal.batch(holding: 9, at: self.day, isSampled: false) == nil)
        _ = journal.note(try self.outcome(), of: self.install)
        #expect(journal.batch(holding: 9, at: self.day, isSampled: false) != nil)
    }

    @Test("A day of very many versions stops telling adoption, and not at the next one without end")
    func adoptionLimit() throws {
        var journal = ReportJournal()
        var told = 0
        for version in Int64(1)...150 {
            while let batch = journal.batch(holding: version, at: self.day) {
                journal.settle(batch, at: self.day)
                told += 1
            }
        }
        #expect(told == 100)
    }

    @Test("Outcomes of the day before take no room of today, and old ones are forgotten")
    func days() throws {
        var journal = ReportJournal()
        for number in 0..<ReportJournal.dayLimit {
            _ = journal.note(try self.outcome(.failure(.pinMismatch), host: "h\(number).example.com"), of: self.install)
        }
        let next = self.day.adding(seconds: 86_400)
        #expect(journal.note(try self.outcome(.failure(.pinMismatch), at: next), of: self.install) == .firstFailure)
        while let batch = journal.batch(holding: 7, at: next) { journal.settle(batch, at: next) }
        #expect(journal.note(try self.outcome(.failure(.chainInvalid), at: next), of: self.install) == .added)
        let later = journal.batch(holding: 7, at: next.adding(seconds: 3 * 86_400))
        #expect(later?.outcomes == [])
    }

    @Test("A batch that is refused for good is told no more, and is no adoption")
    func dropped() throws {
        var journal = ReportJournal()
        _ = journal.note(try self.outcome(), of: self.install)
        let first = journal.batch(holding: 7, at: self.day)
        journal.drop(try #require(first))
        #expect(journal.note(try self.outcome(), of: self.install) == .none)
        #expect(journal.batch(holding: 7, at: self.day)?.outcomes == [])
    }

    @Test("A journal is read back as it was, and goes on from there")
    func keeps() throws {
        var journal = ReportJournal()
        _ = journal.note(try self.outcome(), of: self.install)
        let batchBatch = journal.batch(holding: 7, at: self.day)
        let batch = try #require(batchBatch)
        journal.settle(batch, at: self.day)
        _ = journal.note(try self.outcome(.failure(.pinMismatch)), of: self.install)
        let bytes = journal.bytes(of: self.install)
        var read = try #require(ReportJournal(bytes, of: self.install))
        #expect(read.bytes(of: self.install) == bytes && read.pending == journal.pending)
        #expect(read.note(try self.outcome(), of: self.install) == .none)
        #expect(read.lastSent == self.day)
        #expect(read.note(try self.outcome(.failure(.pinMismatch)), of: self.install) == .counted)
        #expect(read.pending.map(\.count) == [2])
        #expect(ReportJournal(bytes, of: .random()) == nil)
    }

    @Test("A journal of two full days is read back as it was")
    func keepsAll() throws {
        var journal = ReportJournal()
        let next = self.day.adding(seconds: 86_400)
        for day in [self.day, next] {
            for number in 0..<ReportJournal.dayLimit {
                let host = "h\(number).\(String(repeating: "long.", count: 40))example.com"
                _ = journal.note(try self.outcome(.failure(.pinMismatch), host: host, at: day), of: self.install)
            }
        }
        #expect(journal.pending.count == 2 * ReportJournal.dayLimit)
        let bytes = journal.bytes(of: self.install)
        #expect(ReportJournal(bytes, of: self.install)?.pending == journal.pending)
    }

    @Test("A damaged journal is none, or is read as what it says, and never more than that")
    func damaged() throws {
        var journal = ReportJournal()
        for number in 0..<3 {
            _ = journal.note(try self.outcome(.failure(.pinMismatch), host: "h\(number).example.com"), of: self.install)
        }
        let bytes = journal.bytes(of: self.install)
        for length in bytes.indices { #expect(ReportJournal(Array(bytes[..<length]), of: self.install) == nil) }
        var generator = SeededGenerator(seed: 20)
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] = UInt8.random(in: .min ... .max, using: &generator)
            guard let read = ReportJournal(damaged, of: self.install) else { continue }
            #expect(read.pending.count <= 3)
        }
        #expect(ReportJournal([UInt8](repeating: 32, count: ReportJournal.byteLimit + 1), of: self.install) == nil)
        #expect(ReportJournal([UInt8](repeating: UInt8(ascii: "["), count: 100_000), of: self.install) == nil)
    }

    @Test("A sample takes about its share of installs, each day others")
    func sample() throws {
        let installs = (0..<2000).compactMap {
            InstallID(bytes: Array(sha256([UInt8($0 & 255), UInt8($0 >> 8)]).prefix(16)))
        }
        func sampled(_ share: Int, _ day: Timestamp) -> Set<InstallID> {
            Set(
                installs.filter { install in
                    var configuration = ReportConfiguration(install: install, services: [], key: nil)
                    configuration.share = share
                    return configuration.isSampled(on: ReportDay(day))
                })
        }
        #expect(sampled(0, self.day).isEmpty && sampled(10_000, self.day).count == installs.count)
        let tenth = sampled(1000, self.day)
        #expect((140...260).contains(tenth.count))
        #expect(sampled(1000, self.day.adding(seconds: 86_400)) != tenth)
        #expect(sampled(2000, self.day).isSuperset(of: tenth))
    }
}
