import ClientFormats
import Foundation
import PinWire
import Pinning
import Testing

/// What MueJam clients read.
private struct Fingerprints: Decodable {
    var sha256: [String]
    var sha1: [String]
    var domain: String
    var valid_until: String
    var subject: [String: String]
    var issuer: [String: String]
}

@Suite struct `Fingerprints for MueJam clients` {
    /// A certificate that OpenSSL 3.0 made and printed the fingerprints of.
    private static func printed() throws -> CertificateFacts {
        let sha256 = Hex.decode("a31bb34bdebff17ac891e112aec720929b44a13a4f6f8eded5872de57a2c91b9") ?? []
        let sha1 = Hex.decode("c869658b5cba6b586363032f217150e60333e2db") ?? []
        var facts = try CertificateFacts.imagined("printed", key: "1", notAfter: Timestamp(seconds: 1_826_881_492))
        (facts.sha256, facts.sha1) = (sha256, sha1)
        facts.subject = #"CN=api.example.com,OU=B/x+OU=A,O=Example\, Inc.,C=DE"#
        facts.issuer = "CN=Example CA"
        return facts
    }

    private static func read(_ app: RenderedApp, _ domain: String = "api.example.com") throws -> Fingerprints {
        let reply = try MueJamFingerprints(app.view(), domain: domain).reply
        #expect(reply.status == 200)
        return try JSONDecoder().decode(Fingerprints.self, from: Data(reply.body))
    }

    private static func text(_ digest: [UInt8]) -> String {
        digest.map { String(format: "%02X", $0) }.joined(separator: ":")
    }

    @Test func `fingerprints for MueJam are written as OpenSSL and the deployed server write them`() throws {
        var app = RenderedApp()
        try app.add("api.example.com", [(try .imagined("1"), .primary)])
        app.know(try Self.printed())
        #expect(
            String(decoding: try MueJamFingerprints(app.view(), domain: "api.example.com").reply.body, as: UTF8.self)
                == #"{"sha256":["A3:1B:B3:4B:DE:BF:F1:7A:C8:91:E1:12:AE:C7:20:92:"#
                + #"9B:44:A1:3A:4F:6F:8E:DE:D5:87:2D:E5:7A:2C:91:B9"],"#
                + #""sha1":["C8:69:65:8B:5C:BA:6B:58:63:63:03:2F:21:71:50:E6:03:33:E2:DB"],"#
                + #""domain":"api.example.com","valid_until":"Nov 22 11:04:52 2027 GMT","#
                + #""subject":{"C":"DE","countryName":"DE","O":"Example, Inc.","organizationName":"Example, Inc.","#
                + #""OU":"B/x","organizationalUnitName":"B/x","CN":"api.example.com","#
                + #""commonName":"api.example.com"},"#
                + #""issuer":{"CN":"Example CA","commonName":"Example CA"}}"#)
    }

    @Test func `fingerprints for MueJam cover all keys' certificates, those of the served key first`() throws {
        var app = RenderedApp()
        try app.add("*.b", [(try .imagined("1"), .primary), (try .imagined("2"), .backup)])
        let later = RenderedApp.now.adding(seconds: 1_000_000)
        let certificates = [
            try CertificateFacts.imagined("next", key: "2", notAfter: later),
            try CertificateFacts.imagined("next, older", key: "2"), try CertificateFacts.imagined("now", key: "1"),
        ]
        for certificate in certificates { app.know(certificate) }
        try app.see(try .imagined("2"), at: "*.b")
        let read = try Self.read(app, "A.b")
        #expect(read.sha256 == certificates.map { Self.text($0.sha256) })
        #expect(read.sha1 == certificates.map { Self.text($0.sha1) })
        #expect(read.domain == "A.b" && read.subject["CN"] == "next")
        #expect(read.valid_until == later.opensslText)
        #expect(read.issuer["O"] == "Example, Inc." && read.issuer["organizationName"] == "Example, Inc.")
    }

    @Test func `fingerprints for MueJam leave out certificates that are expired or an authority's`() throws {
        var app = RenderedApp()
        try app.add("api.example.com", [(try .imagined("1"), .primary), (try .imagined("2"), .backup)])
        app.know(try .imagined("over", key: "1", notAfter: RenderedApp.now))
        app.know(try .imagined("authority", key: "2", isCA: true))
        #expect(throws: MueJamError.self) { try MueJamFingerprints(app.view(), domain: "api.example.com") }
        let valid = try CertificateFacts.imagined("valid", key: "2")
        app.know(valid)
        #expect(try Self.read(app).sha256 == [Self.text(valid.sha256)])
    }

    @Test func `fingerprints for MueJam are served where pinning is off, which the format cannot say`() throws {
        var app = RenderedApp()
        try app.add("api.example.com", mode: .reportOnly, [(try .imagined("1"), .primary)])
        app.know(try Self.printed())
        app.switchOff()
        #expect(try Self.read(app).sha256.count == 1)
    }

    @Test func `a host without fingerprints gets the error of MueJam's server`() throws {
        var app = RenderedApp()
        try app.add("builtin.b", mode: nil)
        try app.add("unknown.b", [(try .imagined("1"), .primary)])
        let view = try app.view()
        for (domain, reason) in [
            ("builtin.b", "No pins are published for this domain"), ("x.b", "No pins are published for this domain"),
            ("unknown.b", "No valid certificate of the domain's pins is known"),
        ] {
            #expect {
                try MueJamFingerprints(view, domain: domain)
            } throws: {
                guard let reply = ($0 as? MueJamError)?.reply else { return false }
                return reply.status == 500
                    && String(decoding: reply.body, as: UTF8.self)
                        == #"{"error":{"code":"CERTIFICATE_ERROR","#
                        + #""message":"Unable to retrieve certificate fingerprints","#
                        + #""details":{"technical_message":"\#(reason)"}}}"#
            }
        }
    }

    /// The answer to a request to verify a fingerprint, with its status before it.
    private static func verified(_ body: String, for domain: String = "api.example.com") throws -> String {
        var app = RenderedApp()
        try app.add("api.example.com", [(try .imagined("1"), .primary), (try .imagined("2"), .backup)])
        app.know(try Self.printed())
        app.know(try .imagined("next", key: "2"))
        let reply = MueJamFingerprints.reply(verifying: Array(body.utf8), for: domain, in: try app.view())
        return "\(reply.status) \(String(decoding: reply.body, as: UTF8.self))"
    }

    private static let sha256 =
        "A3:1B:B3:4B:DE:BF:F1:7A:C8:91:E1:12:AE:C7:20:92:9B:44:A1:3A:4F:6F:8E:DE:D5:87:2D:E5:7A:2C:91:B9"
    private static let sha1 = "C8:69:65:8B:5C:BA:6B:58:63:63:03:2F:21:71:50:E6:03:33:E2:DB"

    @Test(arguments: [
        (#"{"fingerprint":"\#(sha256)"}"#, "sha256"),
        (#"{"fingerprint":"\#(sha256.lowercased())","algorithm":"sha256","x":1}"#, "sha256"),
        (#"{"fingerprint":"\#(sha256.filter { $0 != ":" })"}"#, "sha256"),
        (#"{"fingerprint":"\#(sha256.filter { $0 != ":" }.lowercased())"}"#, "sha256"),
        (#"{"fingerprint":"\#(sha1)","algorithm":"sha1"}"#, "sha1"),
    ])
    func `fingerprints for MueJam match in any case, with colons and without`(body: String, algorithm: String) throws {
        #expect(
            try Self.verified(body)
                == #"200 {"valid":true,"algorithm":"\#(algorithm)","#
                + #""message":"Fingerprint matches current certificate"}"#)
    }

    @Test func `fingerprints for MueJam match the next certificate too`() throws {
        let next = Self.text(try CertificateFacts.imagined("next", key: "2").sha256)
        #expect(try Self.verified(#"{"fingerprint":"\#(next)"}"#).hasPrefix(#"200 {"valid":true,"#))
    }

    @Test(arguments: [
        (#"{"fingerprint":"\#(sha256.dropLast())"}"#, "sha256"), (#"{"fingerprint":"\#(sha256)0"}"#, "sha256"),
        (#"{"fingerprint":" \#(sha256)"}"#, "sha256"), (#"{"fingerprint":":"}"#, "sha256"),
        (#"{"fingerprint":"\#(sha1)"}"#, "sha256"), (#"{"fingerprint":"\#(sha256)","algorithm":"sha1"}"#, "sha1"),
        (#"{"fingerprint":"\#(sha256.replacing("A", with: "Ａ"))"}"#, "sha256"),
        (#"{"fingerprint":"\#(sha256.replacing("1", with: "\\u0011"))"}"#, "sha256"),
    ])
    func `fingerprints for MueJam do not match anything else`(body: String, algorithm: String) throws {
        #expect(
            try Self.verified(body)
                == #"200 {"valid":false,"algorithm":"\#(algorithm)","#
                + #""message":"Fingerprint does not match current certificate"}"#)
    }

    private static let missing =
        #"{"error":{"code":"MISSING_FIELD","message":"Fingerprint is required","details":{"field":"fingerprint"}}}"#

    private static func wrong(_ algorithm: String) -> String {
        #"{"error":{"code":"INVALID_FIELD_VALUE","message":"Algorithm must be sha256 or sha1","#
            + #""details":{"field":"algorithm","provided":\#(algorithm),"allowed":["sha256","sha1"]}}}"#
    }

    private static let malformed =
        #"{"error":{"code":"INVALID_FIELD_VALUE","message":"Request body must be a JSON object","#
        + #""details":{"field":"body"}}}"#

    @Test(arguments: [
        ("{}", missing), (#"{"fingerprint":""}"#, missing), (#"{"fingerprint":null}"#, missing),
        (#"{"fingerprint":0}"#, missing), (#"{"fingerprint":[]}"#, missing), (#"{"Fingerprint":"AA"}"#, missing),
        (#"{"algorithm":"md5"}"#, missing),
        (#"{"fingerprint":"AA","algorithm":"md5"}"#, wrong(#""md5""#)),
        (#"{"fingerprint":"AA","algorithm":"SHA256"}"#, wrong(#""SHA256""#)),
        (#"{"fingerprint":"AA","algorithm":null}"#, wrong("null")),
        (#"{"fingerprint":"AA","algorithm":256}"#, wrong("256")),
        (#"{"fingerprint":"AA","algorithm":{"b":1,"a":"\"<"}}"#, wrong(#"{"a":"\"<","b":1}"#)),
        (
            #"{"fingerprint":7}"#,
            #"{"error":{"code":"INVALID_FIELD_VALUE","message":"Fingerprint must be a string","#
                + #""details":{"field":"fingerprint","provided":7}}}"#
        ),
        ("", malformed), ("[]", malformed), ("\"AA\"", malformed), ("{", malformed),
        ("fingerprint=AA", malformed), (#"{"fingerprint":"A","fingerprint":"B"}"#, malformed),
    ])
    func `fingerprints for MueJam are not compared for a malformed request`(body: String, error: String) throws {
        #expect(try Self.verified(body) == "400 \(error)")
    }

    @Test func `fingerprints for MueJam cannot be verified for a host without any`() throws {
        #expect(
            try Self.verified(#"{"fingerprint":"\#(Self.sha256)"}"#, for: "other.example.com")
                == #"500 {"error":{"code":"VERIFICATION_ERROR","message":"Unable to verify certificate fingerprint","#
                + #""details":{"technical_message":"No pins are published for this domain"}}}"#)
    }
}
