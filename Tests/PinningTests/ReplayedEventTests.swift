import PinWire
import Pinning
import SeededRandom
import Testing

/// The short way of reading entries against the long one: the same entries, the same refusals.
@Suite struct `A step of the fold` {
    /// An entry of any event, with whatever an origin may hold.
    private func entry(_ random: inout RandomLedger) -> Entry {
        var origin = Origin(actor: Actor(kind: random.generator.pick(Actor.Kind.allCases), id: "a", name: "Ä \"n\""))
        if random.generator.once(in: 2) { origin.actor.name = "plain" }
        if random.generator.once(in: 2) { origin.reason = reason(random.generator.pick(["why", "ö", "\"quoted\\"])) }
        origin.isForced = random.generator.once(in: 3)
        if random.generator.once(in: 2) { origin.requestID = "r-1" }
        if random.generator.once(in: 3) { origin.correlationID = "c/1" }
        if random.generator.once(in: 3) { origin.causationID = "c\u{1}" }
        if random.generator.once(in: 3) { origin.idempotencyKey = "k" }
        let time = random.generator.once(in: 2) ? noon : Timestamp(microseconds: noon.microseconds + 250_000)
        return Entry(
            position: Int64.random(in: 0...JSON.largestInteger, using: &random.generator), stream: random.stream(),
            streamVersion: Int64.random(in: 0...99, using: &random.generator), time: time,
            decidedAt: random.generator.once(in: 3) ? noon.adding(seconds: -259_200) : nil, event: random.event(),
            origin: origin
        )
    }

    /// Kept from entry to entry, as it is meant to be.
    private func scanned(_ bytes: [UInt8], _ names: inout RecentNames) -> Result<ReplayedEvent, JSONDefect> {
        bytes.withUnsafeBufferPointer { buffer in
            do throws(JSONDefect) { return .success(try ReplayedEvent(bytes: buffer, names: &names)) } catch {
                return .failure(error)
            }
        }
    }

    private func judged(_ bytes: [UInt8]) -> Result<ReplayedEvent, JSONDefect> {
        do { return .success(ReplayedEvent(try Entry(canonical: bytes))) } catch { return .failure(error) }
    }

    /// An entry's bytes by way of JSON values.
    private func canonical(_ entry: Entry) -> [UInt8] {
        JSON.members([
            "position": .integer(entry.position),
            "stream": .string(entry.stream.text),
            "stream_version": .integer(entry.streamVersion),
            "time": .string(entry.time.rfc3339),
            "type": .string(entry.event.type),
            "schema": .integer(Int64(entry.event.schema)),
            "data": entry.event.data,
            "decided_at": entry.decidedAt.map { .string($0.rfc3339) },
            "actor": entry.origin.actor.json,
            "reason": entry.origin.reason.map { .string($0.text) },
            "forced": entry.origin.isForced ? true : nil,
            "request_id": entry.origin.requestID.map { .string($0) },
            "correlation_id": entry.origin.correlationID.map { .string($0) },
            "causation_id": entry.origin.causationID.map { .string($0) },
            "idempotency_key": entry.origin.idempotencyKey.map { .string($0) },
        ]).canonicalBytes
    }

    @Test(arguments: 0..<20)
    func `a replayed event is that of the entry, and the entry's bytes are canonical`(seed: UInt64) {
        var random = RandomLedger(seed: seed)
        var names = RecentNames()
        for _ in 0..<TestDepth.rounds(500) {
            let entry = self.entry(&random)
            let bytes = entry.bytes
            #expect(bytes == self.canonical(entry))
            #expect(self.scanned(bytes, &names) == .success(ReplayedEvent(entry)))
        }
    }

    @Test(arguments: examples.keys.sorted())
    func `a replayed event is that of every example`(name: String) throws {
        let entry = try #require(examples[name])
        var names = RecentNames()
        #expect(entry.bytes == self.canonical(entry))
        #expect(self.scanned(entry.bytes, &names) == .success(ReplayedEvent(entry)))
    }

    @Test(arguments: GoldenEvents.lines)
    func `a replayed event is that of every golden line`(line: [UInt8]) throws {
        var names = RecentNames()
        let entry = try Entry(bytes: line)
        #expect(self.canonical(entry) == line)
        #expect(self.scanned(line, &names) == .success(ReplayedEvent(entry)))
    }

    @Test(arguments: TestDepth.seeds(20))
    func `a replayed event is read from changed bytes only where the entry is`(seed: UInt64) {
        var random = RandomLedger(seed: seed)
        var (taken, refused) = (0, 0)
        var names = RecentNames()
        for _ in 0..<1500 {
            var bytes = self.entry(&random).bytes
            for _ in 0...Int.random(in: 0...1, using: &random.generator) { self.damage(&bytes, &random) }
            let judged = self.judged(bytes)
            #expect(self.scanned(bytes, &names) == judged)
            if case .success = judged { taken += 1 } else { refused += 1 }
        }
        #expect(taken > 20 && refused > 200)
    }

    /// Changes, takes out, repeats or moves something; often something that JSON is made of.
    private func damage(_ bytes: inout [UInt8], _ random: inout RandomLedger) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: bytes.indices, using: &random.generator)
        switch Int.random(in: 0..<8, using: &random.generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random.generator)
        case 1: bytes[place] = random.generator.pick(Array("{}[]\",:\\0129 truefalsn-+eE.\u{20}".utf8))
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(random.generator.pick(Array("{}[]\",:\\ 0aZ\n".utf8)), at: place)
        case 4: bytes.removeLast(min(bytes.count, Int.random(in: 1...20, using: &random.generator)))
        case 5:
            let end = min(bytes.count, place + Int.random(in: 1...30, using: &random.generator))
            bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 6: bytes.swapAt(place, Int.random(in: bytes.indices, using: &random.generator))
        default:
            // Another letter or digit: mostly still JSON, often still an entry.
            let plain = bytes.indices.filter { (0x30...0x39).contains(bytes[$0]) || (0x61...0x7A).contains(bytes[$0]) }
            guard !plain.isEmpty else { return }
            bytes[random.generator.pick(plain)] = random.generator.pick(Array("0123456789abcdefxyz".utf8))
        }
    }

    @Test func `a replayed event is not read from an entry in another spelling`() throws {
        let bytes = try #require(examples["PinStaged"]).bytes
        let text = String(decoding: bytes, as: UTF8.self)
        let others = [
            text + " ", " " + text, text.replacing("\"schema\":1", with: "\"schema\":1.0"),
            text.replacing("\"position\":", with: "\"position\":0"), text.replacing("Z\"", with: ".000000Z\""),
            text.replacing("Z\"", with: "+00:00\""), text.replacing("host", with: "h\\u006fst"),
            text.replacing(",\"reason\"", with: ",\"forced\":false,\"reason\""),
        ]
        var names = RecentNames()
        for other in others where other != text {
            #expect(throws: JSONDefect.self, "\(other)") { try self.scanned(Array(other.utf8), &names).get() }
        }
    }
}

@Suite struct `A sorted map` {
    @Test(arguments: 0..<20) func `a sorted map does what a dictionary does`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var map = SortedMap<Pin, Int>()
        var dictionary: [Pin: Int] = [:]
        for step in 0..<400 {
            let key = pin(Int.random(in: 0..<20, using: &generator))
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: (map[key], dictionary[key]) = (nil, nil)
            case 1:
                map[key]? += 1
                dictionary[key]? += 1
            default: (map[key], dictionary[key]) = (step, step)
            }
            #expect(map[key] == dictionary[key] && map.count == dictionary.count)
        }
        #expect(map.keys == dictionary.keys.sorted())
        #expect(Array(map.values) == dictionary.sorted { $0.key < $1.key }.map(\.value))
        #expect(map.map(\.key) == map.keys)
    }

    @Test func `copies of a sorted map keep what each had`() {
        var one: SortedMap<Pin, Int> = [pin(1): 1, pin(2): 2]
        let other = one
        one[pin(1)] = 7
        one[pin(2)] = nil
        #expect(other == [pin(2): 2, pin(1): 1] && one == [pin(1): 7])
        var more = SortedMap<Pin, Int>()
        let (low, high) = (min(pin(1), pin(2)), max(pin(1), pin(2)))
        #expect(more.append(low, 1) && more.append(high, 2) && !more.append(high, 3) && !more.append(low, 3))
        #expect(more.count == 2)
    }
}

@Suite struct `The table of apps` {
    private func app(_ number: Int, _ name: String = "n") -> App {
        App(id: appID("a\(number)"), displayName: name, createdAt: noon)
    }

    @Test func `the table of apps keeps each app by its name, and copies stay as they were`() {
        var table = AppTable()
        for number in 0..<1000 { table.insert(self.app(number)) }
        let before = table
        #expect(table.update(appID("a7")) { $0.displayName = "changed" } != nil)
        #expect(table.update(appID("b7")) { $0.displayName = "changed" } == nil)
        table.insert(self.app(8, "replaced"))
        table.insert(self.app(1000))
        #expect(table.count == 1001 && before.count == 1000)
        #expect(table[appID("a7")]?.displayName == "changed" && before[appID("a7")]?.displayName == "n")
        #expect(table[appID("a8")]?.displayName == "replaced" && before[appID("a8")]?.displayName == "n")
        #expect(table[appID("a1000")] != nil && before[appID("a1000")] == nil)
        #expect(Set(table.keys).count == 1001 && table.values.count == 1001)
        #expect(table != before && table == table)
        #expect((0..<AppTable.shardCount).map { table.shard($0).count }.reduce(0, +) == 1001)
    }
}
