import ClientFormats
import PinWire
import Pinning
import Testing

@Suite struct `A share of devices` {
    /// App and host in basis points; the whole per cent, nil for what cannot be said.
    @Test(
        arguments: [
            (10_000, 10_000, 100), (10_000, 2500, 25), (2500, 10_000, 25), (2500, 5000, 12), (10_000, 2550, 25),
            (10_000, 9999, 99), (10_000, 100, 1), (10_000, 199, 1), (0, 10_000, 0), (10_000, 0, 0), (0, 0, 0),
            (10_000, 99, nil), (10_000, 1, nil), (1, 1, nil), (1000, 900, nil), (1000, 1000, 1),
        ] as [(Int, Int, Int?)])
    func `a share of devices is rounded down, and never to nothing`(app: Int, host: Int, percent: Int?) {
        #expect(RemoteConfigShare.wholePercent(app: app, host: host) == percent)
        #expect(RemoteConfigShare.isRounded(app: app, host: host) == (percent.map { $0 * 1_000_000 } != app * host))
    }

    @Test(arguments: [
        (1, "0.01"), (5, "0.05"), (10, "0.1"), (100, "1"), (2550, "25.5"), (2505, "25.05"), (9999, "99.99"),
    ])
    func `a share of devices is written to the basis point`(points: Int, text: String) {
        #expect(RemoteConfigShare.text(basisPoints: points) == text)
    }
}

@Suite struct `Firebase's percentile` {
    /// Computed with Python's hashlib: `int(sha256(seed + "." + id).hexdigest(), 16) % 100_000_000`.
    static let vectors: [(String, String, Int64)] = [
        ("", "install-1", 50_078_638), ("", "6F9619FF-8B86-D011-B42D-00C04FC964FF", 14_150_581),
        ("", "6f9619ff-8b86-d011-b42d-00c04fc964ff", 63_563_283), ("", "日本", 99_613_586), ("", ".", 9_313_960),
        ("canary", "install-1", 12_208_749), ("canary", "install-2", 47_695_785), ("canary", "install-3", 46_887_171),
        ("canary", "6f9619ff-8b86-d011-b42d-00c04fc964ff", 26_441_072), ("canary", "日本", 17_286_778),
        ("canary", "e242520", 979), ("canary", "e26606", 99_999_783), ("rollout_2026-01", "a", 84_276_405),
        ("rollout_2026-01", "b", 25_904_529), ("rollout_2026-01", "0", 65_428_588),
        ("rollout_2026-01", String(repeating: "x", count: 200), 38_635_034),
        ("api.example.com", "user-42", 90_486_805), ("api.example.com", "device-001", 49_746_932),
        ("api.example.com", " ", 24_746_810), ("-_.", "é", 8_239_582),
        ("00000000000000000000000000000000", "install-1", 6_752_319),
        ("0123456789abcdef0123456789abcdef", "install-1", 13_367_046),
    ]

    @Test(arguments: vectors) func `Firebase's percentile matches its vectors`(
        seed: String, id: String, position: Int64
    ) throws {
        #expect(try #require(FirebasePercent(of: id, seed: seed)).position == position)
    }

    /// Long division of the hexadecimal number, digit by digit.
    private static func remainder(_ hex: String) -> Int64 {
        hex.reduce(0) { ($0 * 16 + Int64($1.hexDigitValue ?? 0)) % 100_000_000 }
    }

    @Test func `Firebase's percentile is the remainder of the whole digest for 2000 ids`() throws {
        for number in 0..<2000 {
            let drawn = try #require(FirebasePercent(of: "install-\(number)", seed: "canary"))
            #expect(drawn.position == Self.remainder(Hex.encode(sha256(Array("canary.install-\(number)".utf8)))))
        }
    }

    @Test func `Firebase's percentile lets in as many of 2000 ids as firebase-admin does`() {
        let isIn = (0..<2000).filter {
            FirebasePercent(of: "install-\($0)", seed: "canary")?.isAtMost(25_500_000) ?? false
        }
        #expect(isIn.count == 531)
    }

    @Test func `Firebase's percentile includes its upper bound and excludes its lower bound`() throws {
        let drawn = try #require(FirebasePercent(of: "install-1", seed: "canary"))
        #expect(drawn.isAtMost(12_208_749) && !drawn.isAtMost(12_208_748))
        #expect(drawn.isBetween(12_208_748, 12_208_749) && drawn.isBetween(0, 100_000_000))
        #expect(!drawn.isBetween(12_208_749, 100_000_000) && !drawn.isBetween(0, 12_208_748))
    }

    @Test func `Firebase's percentile does not exist without an id`() {
        #expect(FirebasePercent(of: "", seed: "canary") == nil)
    }

    @Test(arguments: [
        ("canary", "canary"), ("a-B_c.9", "a-B_c.9"),
        (String(repeating: "x", count: 32), String(repeating: "x", count: 32)),
        ("app:com.example.shop", "a77514768a6c6112cc42786a681b891a"),
        ("host:api.example.com", "bdf5ca9ac2c226db8f30e5b0de0381d7"),
        (String(repeating: "x", count: 33), "11ba55a3a7c1ee0f8eb8867dc40a62c6"),
        ("ä", "33e6d73fee82904c8d7afb78de1154d1"), ("", "e3b0c44298fc1c149afbf4c8996fb924"),
        ("it's", "24ceef1cb6b0cbc0b332102131824576"),
    ])
    func `Firebase's percentile has a seed that the service accepts, whatever the salt`(salt: String, seed: String) {
        #expect(FirebasePercent.seed(salt: salt) == seed)
    }
}
