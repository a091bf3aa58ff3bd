import Foundation
import PinWire
import SeededRandom
import Testing

@Suite struct `A bucket` {
    /// What `pinroll_v1_vectors.json` holds.
    struct Drawn: Decodable {
        var salt: String
        var seed: String
        var value: String
        var u32: UInt32
        var bucket: Int
        var in_1bp: Bool
        var in_2500bp: Bool
        var in_5000bp: Bool
        var in_10000bp: Bool
    }

    /// What a line of `unleash_murmur3_rollout.jsonl` holds.
    struct Normalized: Decodable {
        var groupId: String
        var id: String
        var murmur3_x86_32: UInt32
        var normalized100: Int
        var rollout: Int
        var enabled: Bool
    }

    @Test func `a bucket of pinroll matches all 72 vectors`() throws {
        let vectors = try JSONDecoder().decode([Drawn].self, from: Data(testFile("Vectors/pinroll_v1_vectors.json")))
        #expect(vectors.count == 72)
        for vector in vectors {
            let seed = try #require(Rollout.Seed(rawValue: vector.seed))
            let bucket = Rollout.Bucketing.pinroll.bucket(of: vector.value, seed: seed, salt: vector.salt)
            #expect(bucket == vector.bucket, "\(vector)")
            let shares = [
                (1, vector.in_1bp), (2500, vector.in_2500bp), (5000, vector.in_5000bp), (10_000, vector.in_10000bp),
            ]
            for (points, isIn) in shares {
                var rollout = Rollout(basisPoints: points, seed: [seed], salt: vector.salt)
                #expect(try isCandidate(rollout, Device(ids: [seed: vector.value])) == isIn, "\(vector)")
                rollout.isSticky = false
                #expect(try isCandidate(rollout, Device(ids: [seed: vector.value])) == isIn, "\(vector)")
            }
        }
    }

    @Test(arguments: [
        ("device_id", "6f9619ff-8b86-d011-b42d-00c04fc964ff", 8803), ("device_id", "device-001", 4067),
        ("device_id", "6F9619FF-8B86-D011-B42D-00C04FC964FF", 8803), ("device_id", "user-42", 8218),
        ("device_id", "日本", 193), ("user_id", "device-001", 2284), ("user_id", "user-42", 4680),
        ("install_id", "edge-14301", 0), ("install_id", "edge-26194", 9999), ("install_id", "edge-23087", 2499),
        ("install_id", "edge-23067", 2500),
    ])
    func `a bucket of pinroll lies where the definition's examples say`(kind: String, id: String, expected: Int) throws
    {
        let seed = try #require(Rollout.Seed(rawValue: kind))
        #expect(Rollout.Bucketing.pinroll.bucket(of: id, seed: seed, salt: "host:api.example.com") == expected)
    }

    @Test func `a bucket of Unleash matches all 1000 vectors`() throws {
        let text = String(decoding: try testFile("Vectors/unleash_murmur3_rollout.jsonl"), as: UTF8.self)
        let vectors = try text.split(separator: "\n").map {
            try JSONDecoder().decode(Normalized.self, from: Data($0.utf8))
        }
        #expect(vectors.count == 1000)
        for vector in vectors {
            #expect(MurmurHash3.hash(Array("\(vector.groupId):\(vector.id)".utf8)) == vector.murmur3_x86_32)
            let bucket = Rollout.Bucketing.unleash.bucket(of: vector.id, seed: .userID, salt: vector.groupId)
            #expect(bucket == (vector.normalized100 - 1) * 100, "\(vector)")
            #expect((bucket < vector.rollout * 100) == vector.enabled, "\(vector)")
            let rollout = Rollout(
                basisPoints: vector.rollout * 100, seed: [.userID], salt: vector.groupId, bucketing: .unleash)
            #expect(try isCandidate(rollout, Device(ids: [.userID: vector.id])) == vector.enabled, "\(vector)")
        }
    }

    @Test(arguments: [("gr1", "123", 73), ("groupX", "999", 25)])
    func `a bucket of Unleash matches the examples of its documentation`(group: String, id: String, normalized: Int) {
        #expect(
            Rollout.Bucketing.unleash.bucket(of: id, seed: .userID, salt: group) == (normalized - 1) * 100)
    }

    @Test(
        arguments: [
            (0, "", 0), (1, "", 0x514E_28B7), (0xFFFF_FFFF, "", 0x81F1_6F39), (0, "test", 0xBA6B_D213),
            (0x9747_B28C, "test", 0x704B_81DC), (0, "Hello, world!", 0xC036_3E43), (0x9747_B28C, "abc", 0xC84A_62DD),
            (0x9747_B28C, "ab", 0x7487_5592), (0x9747_B28C, "a", 0x7FA0_9EA6), (0x9747_B28C, "abcd", 0xF047_8627),
        ] as [(UInt32, String, UInt32)])
    func `a bucket of Unleash comes from MurmurHash3`(seed: UInt32, text: String, hash: UInt32) {
        #expect(MurmurHash3.hash(Array(text.utf8), seed: seed) == hash)
    }

    @Test func `a bucket keeps the case of an id that is not a UUID, and of all ids for Unleash`() {
        let upper = "6F9619FF-8B86-D011-B42D-00C04FC964FF"
        func bucket(_ bucketing: Rollout.Bucketing, _ id: String) -> Int {
            bucketing.bucket(of: id, seed: .deviceID, salt: "s")
        }
        #expect(bucket(.pinroll, upper) == bucket(.pinroll, upper.lowercased()))
        #expect(bucket(.pinroll, "\(upper)0") != bucket(.pinroll, "\(upper)0".lowercased()))
        #expect(bucket(.pinroll, "USER") != bucket(.pinroll, "user"))
        #expect(bucket(.unleash, upper) != bucket(.unleash, upper.lowercased()))
        #expect(Rollout.hashedID(upper, salt: "s") == Rollout.hashedID(upper.lowercased(), salt: "s"))
        #expect(Rollout.hashedID("USER", salt: "s") != Rollout.hashedID("user", salt: "s"))
    }
}

/// Ids of devices, as counters and as UUIDs: 60,000 at full depth.
@Suite struct `A rollout to many devices` {
    private static let ids: [String] = {
        var generator = SeededGenerator(seed: 60_000)
        return (0..<TestDepth.rounds(60_000)).map { number in
            guard number % 2 == 0 else { return "device-\(number)" }
            let hex = Hex.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
            let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
            return parts.map { String(hex.dropFirst($0.lowerBound).prefix($0.count)) }.joined(separator: "-")
        }
    }()

    private static func buckets(_ bucketing: Rollout.Bucketing, salt: String) -> [Int] {
        Self.ids.map { bucketing.bucket(of: $0, seed: .deviceID, salt: salt) }
    }

    @Test(arguments: Rollout.Bucketing.allCases)
    func `a rollout lets in no device at 0 percent and all at 100, and keeps devices in as it grows`(
        bucketing: Rollout.Bucketing
    ) throws {
        let steps = [0, 100, 500, 2500, 5000, 9900, 10_000]
        let evaluators = try steps.map {
            Evaluator(try oneHost(Rollout(basisPoints: $0, salt: "host:api.example.com", bucketing: bucketing)))
        }
        var counts = [Int](repeating: 0, count: steps.count)
        var strays = 0
        for id in Self.ids {
            let device = Device(ids: [.deviceID: id])
            let isIn = evaluators.map {
                $0.decide("api.example.com", for: device, at: Timestamp(seconds: 0)).arm == .candidate
            }
            // Up and down: one threshold parts the steps that let the device in from those that do not.
            if isIn != isIn.sorted(by: { !$0 && $1 }) { strays += 1 }
            for (step, isIn) in isIn.enumerated() where isIn { counts[step] += 1 }
        }
        #expect(strays == 0)
        #expect(counts.first == 0 && counts.last == Self.ids.count)
        for (step, count) in zip(steps, counts) {
            let share = Double(step) / 10_000
            // Six standard deviations of a fair lot.
            let noise = 6 * (Double(Self.ids.count) * share * (1 - share)).squareRoot()
            #expect(abs(Double(count) - share * Double(Self.ids.count)) <= noise, "\(step) \(count)")
        }
    }

    @Test(arguments: Rollout.Bucketing.allCases)
    func `a rollout picks devices under one salt independently of another salt`(bucketing: Rollout.Bucketing) {
        let salts = ["app:com.example.app", "host:api.example.com", "host:api.example.com#2", ""]
        let drawn = salts.map { Self.buckets(bucketing, salt: $0) }
        for (place, one) in drawn.enumerated() {
            for (other, two) in drawn.enumerated() where other > place {
                #expect(abs(Self.correlation(one, two)) < Self.noise, "\(salts[place]) \(salts[other])")
            }
        }
    }

    @Test func `a rollout picks devices by one kind of id independently of another kind`() {
        let device = Self.buckets(.pinroll, salt: "s")
        let user = Self.ids.map { Rollout.Bucketing.pinroll.bucket(of: $0, seed: .userID, salt: "s") }
        #expect(abs(Self.correlation(device, user)) < Self.noise)
    }

    /// Five standard deviations of the correlation of what has nothing in common.
    private static let noise = 5 / Double(ids.count).squareRoot()

    /// Pearson's r.
    private static func correlation(_ one: [Int], _ two: [Int]) -> Double {
        let count = Double(one.count)
        let (a, b) = (Double(one.reduce(0, +)) / count, Double(two.reduce(0, +)) / count)
        var (product, left, right) = (0.0, 0.0, 0.0)
        for (x, y) in zip(one, two) {
            product += (Double(x) - a) * (Double(y) - b)
            left += (Double(x) - a) * (Double(x) - a)
            right += (Double(y) - b) * (Double(y) - b)
        }
        return product / (left * right).squareRoot()
    }
}

/// A document of one host with a candidate that a rollout parts from its baseline.
func oneHost(_ rollout: Rollout) throws -> Document {
    Document(
        issuer: "pinledger", app: try AppID("app"), version: 1, pinsValidUntil: nil, killSwitches: [], rollout: nil,
        versionGate: nil,
        hosts: [
            .init(
                pattern: try host("api.example.com"), includesSubdomains: false,
                baseline: .init(mode: .enforce, pins: [.init(pin: try pin(1), role: .primary)]),
                candidate: .init(mode: .enforce, pins: [.init(pin: try pin(2), role: .primary)]), rollout: rollout
            )
        ],
        fallback: Fallback(), monitoring: Monitoring()
    )
}

/// Whether a rollout lets a device in.
func isCandidate(_ rollout: Rollout, _ device: Device) throws -> Bool {
    Evaluator(try oneHost(rollout)).decide("api.example.com", for: device, at: Timestamp(seconds: 0)).arm == .candidate
}
