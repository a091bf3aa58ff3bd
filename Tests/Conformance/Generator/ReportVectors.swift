import PinWire

/// Requests of clients that report, to the byte.
enum ReportVectors {
    private static let now: Int64 = 1_790_000_000

    static func file() throws -> VectorFile {
        VectorFile(
            name: "report", about: "What a client reports, to the byte: handbook page telemetry, Reports to the byte.",
            cases: try Self.cases())
    }

    private static func connection(
        _ result: String, _ reason: DeviceDecision.Reason = .candidateNone, arm: String? = "baseline",
        version: Int64 = 12, after seconds: Int64 = 0, pins: [UInt8] = [1, 2],
        host: String = "api.example.com"
    ) -> JSON {
        .members([
            "host": .string(host), "time": .integer(Self.now - 600 + seconds), "result": .string(result),
            "reason": .string(reason.rawValue),
            "arm": arm.map { .string($0) }, "document_version": .integer(version),
            "chain": .array(pins.compactMap { Pin(bytes: sha256([$0])) }.map { .string($0.description) }),
        ])
    }

    private static func one(_ name: String, _ connections: [JSON], _ changes: [String: JSON?] = [:]) -> JSON {
        let secret = "tlsec_" + Base64.encode(sha256(Array("pinledger conformance report key".utf8)))
        var members: [String: JSON] = [
            "kind": "report", "name": .string(name), "app": "com.example.shop",
            "key": ["id": "tlk_conformance", "secret": .string(secret)],
            "install": "uw5PSUQ3lNkB6Jaf8RvREg", "platform": "ios", "app_version": "2.4.1", "document_version": 12,
            "now": .integer(Self.now),
            "share": 10_000, "connections": .array(connections),
        ]
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }

    private static func cases() throws -> [JSON] {
        let invalid = Self.connection("invalid_chain", pins: [])
        return [
            Self.one("a day of one success", [Self.connection("matched")]),
            Self.one(
                "the same outcome three times is one",
                [
                    Self.connection("matched"), Self.connection("matched", after: 5),
                    Self.connection("matched", after: 9),
                ]),
            Self.one(
                "a refused connection shows the chain",
                [Self.connection("refused", .rolloutIn, arm: "candidate", pins: [7, 8, 9])]),
            Self.one(
                "an outcome by another chain is another one",
                [Self.connection("refused", pins: [7]), Self.connection("refused", after: 1, pins: [8])]),
            Self.one("at most ten pins are shown", [Self.connection("mismatched", .rolloutOut, pins: Array(1...12))]),
            Self.one("a chain that the platform refused", [invalid]),
            Self.one(
                "pins that have ended",
                [
                    Self.connection("refused_expired", .pinsExpired, arm: nil),
                    Self.connection("unpinned", .pinsExpired, arm: nil), Self.connection("matched", after: 3),
                ]),
            Self.one("an empty chain is absent", [Self.connection("refused", pins: [])]),
            Self.one(
                "what is not reported: a kill switch, a mode of off, a host that the document does not name",
                [
                    Self.connection("unpinned", .killSwitchEngaged, arm: nil),
                    Self.connection("unpinned", .candidateNone),
                    Self.connection("unpinned", .hostUnknown, arm: nil, host: "private.example"),
                    Self.connection("invalid_chain", .hostUnknown, arm: nil, pins: [], host: "private.example"),
                ]),
            Self.one("adoption alone", []), Self.one("adoption of no document", [], ["document_version": 0]),
            Self.one(
                "outcomes of an older document",
                [Self.connection("matched", version: 11), Self.connection("matched", after: 1)]),
            Self.one(
                "a host in upper case with a trailing dot", [Self.connection("matched", host: "API.Example.com.")]),
            Self.one(
                "an app that states neither platform nor version", [Self.connection("matched")],
                ["platform": nil, "app_version": nil]),
            Self.one("a version with leading zeros, a pre-release and a build", [], ["app_version": "02.4-rc.1+build"]),
            Self.one("a version of four groups", [], ["app_version": "1.2.3.4"]),
            Self.one("a text that is no version", [], ["app_version": "v2"]),
            Self.one(
                "a hundred outcomes at most, the oldest first",
                (0..<120).map { Self.connection("matched", after: Int64($0), host: "host-\($0).example.com") }),
            Self.one("an install outside the sample", [Self.connection("matched")], ["share": 0]),
        ]
            + (0..<8).map { number in
                let install = InstallID(bytes: Array(sha256([UInt8(number)]).prefix(16)))?.text ?? ""
                return Self.one(
                    "a sample of half, install \(number)", [], ["install": .string(install), "share": 5000])
            }
    }
}
