import Foundation
import PinWire
import SeededRandom
import Testing

@Suite struct `An app version` {
    /// What `appver_v1_vectors.json` holds.
    struct Vector: Decodable {
        var a: String
        var b: String
        var cmp: Int?
    }

    private func vectors() throws -> [Vector] {
        try JSONDecoder().decode([Vector].self, from: Data(testFile("Vectors/appver_v1_vectors.json")))
    }

    private func order(_ left: AppVersion, _ right: AppVersion) -> Int {
        left < right ? -1 : left > right ? 1 : 0
    }

    @Test func `app versions compare as all 36 vectors say`() throws {
        let vectors = try self.vectors()
        #expect(vectors.count == 36)
        for vector in vectors {
            guard let expected = vector.cmp else {
                #expect((try? AppVersion(vector.a)) == nil || (try? AppVersion(vector.b)) == nil, "\(vector)")
                continue
            }
            let (a, b) = (try AppVersion(vector.a), try AppVersion(vector.b))
            #expect(self.order(a, b) == expected, "\(vector)")
            #expect(self.order(b, a) == -expected, "\(vector)")
            #expect((a == b) == (expected == 0), "\(vector)")
            if expected == 0 { #expect(a.hashValue == b.hashValue, "\(vector)") }
        }
    }

    @Test func `app versions have one strict total order`() throws {
        let texts = try self.vectors().flatMap { [$0.a, $0.b] } + Self.ascending
        let versions = texts.compactMap { try? AppVersion($0) }
        #expect(versions.count > 50)
        for a in versions {
            #expect(!(a < a) && a == a)
            for b in versions {
                #expect([a < b, a == b, b < a].count { $0 } == 1, "\(a) \(b)")
                for c in versions where a < b && b < c { #expect(a < c, "\(a) \(b) \(c)") }
            }
        }
    }

    /// The chain of Semantic Versioning 2 section 11, and ours.
    static let ascending = [
        "0", "0.0.0.1", "1.0.0-0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-99999999999999999999",
        "1.0.0-100000000000000000000", "1.0.0--", "1.0.0-A", "1.0.0-a", "1.0.0-alpha", "1.0.0-alpha.1",
        "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.0.1", "1.9",
        "1.10",
        "2", "10", "999999999.999999999.999999999.999999999",
    ]

    @Test func `an app version is sorted by precedence`() throws {
        let versions = try Self.ascending.map { try AppVersion($0) }
        for (at, left) in versions.enumerated() {
            for right in versions.dropFirst(at + 1) { #expect(left < right, "\(left) \(right)") }
        }
        var generator = SeededGenerator(seed: TestSeed.chosen(or: 11))
        for _ in 0..<10 { #expect(versions.shuffled(using: &generator).sorted() == versions) }
    }

    @Test(arguments: [
        ["1.5", "1.5.0", "1.5.0.0", "01.05", "1.5+a", "1.5.0+b.c"], ["1-rc.1", "1.0-rc.01", "1.0.0.0-rc.1+x"],
        ["1-0", "1-00"], ["0", "0.0", "000000000"],
    ])
    func `app versions that are equal in order may differ in text`(texts: [String]) throws {
        let versions = try texts.map { try AppVersion($0) }
        #expect(Set(versions).count == 1)
        #expect(versions.map(\.text) == texts)
        #expect(versions.map(\.description) == texts)
    }

    @Test(arguments: [
        "", " ", "1 ", " 1", "1\n", "1\r\n", "v1", "V1.0", "1.", ".1", "1..2", "1.2.3.4.5", "1234567890", "1.x", "1,5",
        "1_0",
        "-1", "+1", "1-", "1+", "1-a..b", "1-.a", "1-a.", "1-a_b", "1-é", "1+a+b", "1+a..b", "1+é", "1.0.0 (1)", "٣.١",
        "１",
        "1\u{301}", "1-a\0", "not-a-version", "0x1", "1e3", "1/2", "1.0-a b", String(repeating: "1", count: 129),
        "1-" + String(repeating: "a", count: 127), String(repeating: "1.", count: 100_000),
    ])
    func `an app version is not made of a malformed text`(text: String) {
        #expect(throws: AppVersion.Malformed.self) { try AppVersion(text) }
    }

    @Test func `an app version may have 128 characters`() throws {
        #expect(try AppVersion("1-" + String(repeating: "a", count: 126)).text.count == 128)
    }

    @Test func `an app version knows whether it is a pre-release`() throws {
        #expect(try AppVersion("1.5-rc1").isPreRelease)
        #expect(try !AppVersion("1.5").isPreRelease)
        #expect(try !AppVersion("1.5+rc-1").isPreRelease)
    }
}
