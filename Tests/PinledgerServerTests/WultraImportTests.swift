import Keys
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

/// Plans of what a mobile utility server has.
@Suite struct `An import from a mobile utility server` {
    private static let now = Timestamp(seconds: 1_769_860_800)  // 2026-01-31T12:00:00Z

    /// A certificate for api.example.com, made for these tests.
    struct Made: Sendable {
        var pin: String
        var fingerprint: String
        var expires: Int64
        var der: String

        /// With line feeds as JSON writes them.
        var pem: String { #"-----BEGIN CERTIFICATE-----\n\#(self.der)\n-----END CERTIFICATE-----\n"# }
        var json: String {
            #"{"pem": "\#(self.pem)", "fingerprint": "\#(self.fingerprint)", "expires": \#(self.expires)}"#
        }
    }

    private static let one = Made(
        pin: "HOEpuXr5bpyM44HUu2UjNQWECvxlPZGn46WQxEegKbE=",
        fingerprint: "Wv+5qdvNkrXJaNxXA2h3dvmGEv1Tb1rherW2T9laLAQ=",
        expires: 4_102_444_800,
        der:
            "MIIBVDCB/KADAgECAhQrrrIpWJwsLTrnC1CWi7w47/o1UDAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9hcGkuZXhhbXBsZS5jb20wIBcNMjUwMTAxMDAwMDAwWhgPMjEwMDAxMDEwMDAwMDBaMBoxGDAWBgNVBAMMD2FwaS5leGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABA3JcjVM9z+cCSFPkHXEjNvBb3sJMWs+RmtfpsK0Z5UmD95UtCArbuu67v0AEmfUUaZC9YWfKwPayLPNE4WV1qqjHjAcMBoGA1UdEQQTMBGCD2FwaS5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNHADBEAiAsPu35NH2rTEqyGdnrB16vh2/Unm1h4rOiUpg3tiJ+rwIgGCjweD/t0d1GDWUlMQJ13YxMdUPQjoS24dRaiiiz3iM="
    )
    private static let two = Made(
        pin: "5d3bFoNRVOsyd71wPJUSlgtmDIuj5TyyOSmjTGLr5hA=",
        fingerprint: "CAzV8vO0sRQz/dGU5F6QORkfhc6Wxljx1WIWWEB4NhU=",
        expires: 4_102_444_800,
        der:
            "MIIBVTCB/KADAgECAhQljj8rhbfBBRvo6jdmnUqBep9b2TAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9hcGkuZXhhbXBsZS5jb20wIBcNMjUwMTAxMDAwMDAwWhgPMjEwMDAxMDEwMDAwMDBaMBoxGDAWBgNVBAMMD2FwaS5leGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFOXDLhWR5rwglcf0yt/PaoPWZS+Ce+7nAhUE6UfPvOT610HETjcIGYcsDjoKQC5NUQizZklOuYu1NTgvcK8FwKjHjAcMBoGA1UdEQQTMBGCD2FwaS5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNIADBFAiAe+KeVBB9KqlLV8oANblopylTqmGwanjBFacIDjGSajwIhAKxpwBOWdm2KjsjwJ6hy/968DsBSRzieb3NB51okMFMC"
    )
    /// As `openssl req -x509` makes them: signed by itself, allowed to sign, and without alternative names.
    private static let selfSigned = Made(
        pin: "SL51qsFUqMVn/oOPIyqhhSfBOciHNvrxa4y+WsixtQ0=",
        fingerprint: "xozZJQN8TKr++PUf2sUdvku9ngvzd3qslXWCxptGXFI=",
        expires: 4_102_444_800,
        der:
            "MIIBSjCB8aADAgECAhQSqhEsxre/1cm7+vjMw6TTGwCFSTAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9hcGkuZXhhbXBsZS5jb20wIBcNMjUwMTAxMDAwMDAwWhgPMjEwMDAxMDEwMDAwMDBaMBoxGDAWBgNVBAMMD2FwaS5leGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBvcIAoZjOLw3LW5sY3k1OYh4xkZwfE+xEgNc+b/Zp17EqcZHpsA26JNDLiNT6nqF2UV5+/vN9+o/gUXZRzvTrWjEzARMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgeIXGvZWpDgqiacUgeNcHzofkTNIUevCSAUMVB2Sz7GQCIQCJItYG2aeZQFZuv39COmFANpTZKAZ5Zs+F0fZHg76Aqw=="
    )
    private static let expired = Made(
        pin: "iE8hpkpRzrMzYd1ovrMUY97oMt+3TQ1SzYGcy23RHSk=",
        fingerprint: "PSEWFnkB1ZJttf4nf6sM0cDAMgyperr2CIxtomofYEQ=",
        expires: 1_609_459_200,
        der:
            "MIIBVDCB+qADAgECAhQCaFjF8xTHIDcGW1FZl7RL+I16YzAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9hcGkuZXhhbXBsZS5jb20wHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAaMRgwFgYDVQQDDA9hcGkuZXhhbXBsZS5jb20wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAS9jPhwFlfZ8DcZSz85r4mHfk9Yv694W0yDVhL14x0CG9g1ohqxHntU9QikX438S3z8SHcyDp0f0k90tNBPq6Dqox4wHDAaBgNVHREEEzARgg9hcGkuZXhhbXBsZS5jb20wCgYIKoZIzj0EAwIDSQAwRgIhANrPe3eWB02Jzu2UJH5ikjJxyCt1zLcOywvjvepn93GcAiEAto0EgCptUMn8Joh0dMcQtzI8Rt7pIhirHZSeF6ezqEo="
    )

    // The key pair that the tests of Wultra's clients have.
    private static let point =
        "BC3kV9OIDnMuVoCdDR9nEA/JidJLTTDLuSA2TSZsGgODSshfbZg31MS90WC/HdbU/A5WL5GmyDkE/iks6INv+XE="
    private static let otherPoint =
        "BEG6g28LNWRcmdFzexSNTKPBYZnDtKrCyiExFKbktttfKAF7wG4Cx1Nycr5PwCoICG1dRseLyuDxUilAmppPxAo="
    private static let number = "TqkO8z2fD4uCLn0S5IwbK0y8UN24cOVean+ndd3YiSo="

    private static let rule =
        #"{"id": 3, "platform": "IOS", "majorOsVersion": 14, "suggestedVersion": "2.0.0", "requiredVersion": "1.0.0", "messageKey": "update"}"#
    private static let text = #"{"messageKey": "update", "language": "en", "text": "Please update."}"#

    private static func detail(_ certificates: [String], name: String = "api.example.com") -> String {
        #"{"name": "bank", "displayName": "The bank", "publicKey": "\#(Self.point)", "domains": [{"name": "\#(name)", "certificates": [\#(certificates.joined(separator: ", "))]}]}"#
    }

    private static func tables(
        apps: String? = nil, key: String = number, point: String = point, domain: String = ""
    ) -> String {
        let app =
            #"{"id": 1, "name": "bank", "display_name": "The bank", "sign_private_key": "\#(key)", "sign_public_key": "\#(point)"}"#
        func certificate(_ id: Int, _ made: Made) -> String {
            #"{"id": \#(id), "pem": "\#(made.pem)", "fingerprint": "\#(made.fingerprint)", "expires": \#(made.expires), "mobile_domain_id": 7}"#
        }
        return """
            {"mus_mobile_app": [\(apps ?? app), {"id": 2, "name": "other", "sign_private_key": "AAAA"}],
             "mus_mobile_domain": [{"id": 7, "app_id": 1, "domain": "api.example.com"\(domain)},
               {"id": 8, "app_id": 2, "domain": "other.example.com"}],
             "mus_certificate": [\(certificate(1, Self.one)), \(certificate(2, Self.two)),
               {"id": 3, "pem": "broken", "mobile_domain_id": 8}],
             "mus_mobile_app_version": [{"id": 3, "app_id": 1, "platform": "IOS", "major_os_version": 14,
               "suggested_version": "2.0.0", "required_version": "1.0.0", "message_key": "update"},
               {"id": 4, "app_id": 2, "platform": "WINDOWS"}],
             "mus_localized_text": [{"message_key": "update", "language": "en", "text": "Please update."}]}
            """
    }

    private func plan(_ text: String, _ app: App? = nil, into name: String = "bank") throws -> ImportPlan {
        let id = try AppID(name)
        let file = ImportedFile(Array(text.utf8), as: .wultra, for: id)
        return file.plan(for: id, app, at: Self.now, isPublicSuffix: { $0 == "co.uk" })
    }

    private var app: App {
        get throws {
            let id = try AppID("bank")
            return try #require(App(first: .appCreated(displayName: "x"), id: id, at: Timestamp(seconds: 0)))
        }
    }

    private func pins(_ plan: ImportPlan) -> [String] {
        plan.commands.flatMap { command -> [String] in
            guard case .addHost(_, _, let mode, let pins) = command else { return [] }
            return pins.map {
                "\($0.role) \($0.pin.base64) \(mode?.rawValue ?? "-") \($0.evidence == nil ? "" : "shown")"
            }
        }
    }

    private static let bothPins = ["primary \(one.pin) enforce shown", "backup \(two.pin) enforce shown"]

    private func settings(_ plan: ImportPlan) -> ClientSettings? {
        for case .setClient(.wultra, let settings) in plan.commands { return settings }
        return nil
    }

    @Test(arguments: [
        #"{"app": \#(detail([one.json, two.json])), "versions": {"applicationVersions": [\#(rule)]}, "texts": {"texts": [\#(text)]}}"#,
        #"{"app": \#(detail([one.json, two.json])), "versions": [\#(rule)], "texts": [\#(text)]}"#,
        tables(),
    ])
    func
        `an import from a mobile utility server takes over domains, certificates, version rules and texts in either form`(
            text: String
        ) throws
    {
        let plan = try self.plan(text)
        #expect(plan.fatal.isEmpty, "\(plan.fatal)")
        #expect(self.pins(plan) == Self.bothPins)
        #expect(plan.commands.first == .create(displayName: "The bank"))
        let settings = try #require(self.settings(plan))
        #expect(
            settings.versionRules == [
                ClientVersionRule(
                    id: 3, platform: .ios, majorOSVersion: 14, suggestedVersion: try ClientVersion("2.0.0"),
                    requiredVersion: try ClientVersion("1.0.0"), messageKey: try TextKey("update"))
            ])
        #expect(settings.texts == [try Self.text("update", "en", "Please update.")])
        #expect(!settings.understandsDomains)
    }

    private static func text(_ key: String, _ language: String, _ text: String) throws -> ClientText {
        ClientText(key: try TextKey(key), language: try TextLanguage(language), text: try MessageText(text))
    }

    @Test func `an import from a mobile utility server takes an app alone, and says what is missing`() throws {
        let plan = try self.plan(Self.detail([Self.one.json, Self.expired.json]))
        #expect(plan.fatal.isEmpty)
        #expect(self.pins(plan) == ["primary \(Self.one.pin) report_only shown"])
        #expect(self.settings(plan) == ClientSettings())
        #expect(plan.secret == nil)
        let places = plan.findings.map(\.pointer.text)
        #expect(places.contains("/versions") && places.contains("/texts"))
        #expect(places.contains("/domains/0/certificates/1"), "the expired certificate is named")
        #expect(plan.findings.contains { $0.message.contains("private half") })
    }

    @Test func `an import from a mobile utility server leaves a self-signed server certificate in its place`() throws {
        let plan = try self.plan(Self.detail([Self.selfSigned.json, Self.two.json]))
        #expect(plan.fatal.isEmpty, "\(plan.fatal)")
        #expect(
            self.pins(plan) == [
                "primary \(Self.selfSigned.pin) enforce shown", "backup \(Self.two.pin) enforce shown",
            ])
    }

    @Test func `an import from a mobile utility server takes the private key along, and never shows it`() throws {
        let plan = try self.plan(Self.tables())
        let secret = try #require(plan.secret)
        let point = try #require(Base64.decode(Self.point))
        #expect(Array(secret.subjectPublicKeyInfo.suffix(65)) == point)
        let key = ClientKey(algorithm: .es256, publicKey: secret.subjectPublicKeyInfo)
        #expect(plan.commands.last == .setClientKey(.wultra, key))
        let said = "\(plan.commands) \(plan.steps) \(plan.findings) \(plan)"
        #expect(!said.contains(Self.number) && !said.contains(Self.number.dropLast(10)))
    }

    @Test(arguments: [
        (tables(point: otherPoint), "/mus_mobile_app/0/sign_private_key"),
        (tables(key: "AAAA"), "/mus_mobile_app/0/sign_private_key"),
        (tables(key: "no base64"), "/mus_mobile_app/0/sign_private_key"),
        (tables(point: "BBBB"), "/mus_mobile_app/0/sign_public_key"),
        (tables(apps: #"{"id": 1, "name": "bank", "sign_private_key": 7}"#), "/mus_mobile_app/0/sign_private_key"),
    ])
    func `an import from a mobile utility server refuses a bad or mismatched key, and does not repeat it`(
        text: String, pointer: String
    ) throws {
        let plan = try self.plan(text)
        #expect(plan.fatal.map(\.pointer.text) == [pointer])
        #expect(plan.secret == nil)
        #expect(!plan.findings.contains { $0.message.contains(Self.number) || $0.message.contains("no base64") })
    }

    @Test func `an import from a mobile utility server turns pins off for domains that clients were to ignore`() throws
    {
        let plan = try self.plan(Self.tables(domain: #", "ssl_pinning_required": false"#))
        #expect(self.pins(plan).allSatisfy { $0.contains(" off ") })
        #expect(self.settings(plan)?.understandsDomains == true)
    }

    @Test func `an import from a mobile utility server chooses the app by its name, or the only one there is`() throws {
        #expect(try self.plan(Self.tables(), into: "nobody").fatal.map(\.pointer.text) == ["/mus_mobile_app"])
        let renamed = try self.plan(Self.detail([Self.one.json, Self.two.json]), into: "shop")
        #expect(renamed.fatal.isEmpty)
        #expect(renamed.findings.contains { $0.pointer.text == "/name" && $0.severity == .warning })
    }

    @Test(arguments: [
        ("[]", ""), ("{}", "/name"), (#"{"app": []}"#, "/app"),
        (#"{"app": {"name": "x"}, "versions": 1}"#, "/versions"),
        (#"{"name": "bank", "domains": {}}"#, "/domains"),
        (#"{"mus_mobile_app": []}"#, "/mus_mobile_app"), (#"{"mus_mobile_app": null}"#, "/mus_mobile_app"),
        (#"{"mus_mobile_app": [{"id": 1, "name": "bank"}]}"#, "/mus_certificate"),
        (#"{"mus_mobile_app": [1]}"#, "/mus_mobile_app/0"),
        (detail([one.json], name: "API.example.com"), "/domains/0/name"),
        (detail([one.json], name: "co.uk"), "/domains/0/name"),
        (detail([#"{"fingerprint": "\#(one.fingerprint)"}"#]), "/domains/0/certificates/0"),
        (detail([#"{"pem": "x"}"#]), "/domains/0/certificates/0/pem"),
        (detail([#"{"pem": "\#(one.pem)\#(two.pem)"}"#]), "/domains/0/certificates/0/pem"),
        (
            detail([#"{"pem": "\#(one.pem)", "fingerprint": "\#(two.fingerprint)"}"#]),
            "/domains/0/certificates/0/fingerprint"
        ),
        (detail([#"{"pem": "\#(one.pem)", "expires": "soon"}"#]), "/domains/0/certificates/0/expires"),
        (
            #"{"app": \#(detail([one.json])), "versions": [{"id": 1, "platform": "IOS", "majorOsVersion": "x"}]}"#,
            "/versions/0/majorOsVersion"
        ),
        (
            #"{"app": \#(detail([one.json])), "versions": {"applicationVersions": [\#(rule), \#(rule)]}}"#,
            "/versions/applicationVersions/1"
        ),
        (#"{"app": \#(detail([one.json])), "texts": [{"messageKey": "a", "text": "b"}]}"#, "/texts/0/language"),
        (
            tables(domain: #"}, {"id": 7, "app_id": 1, "domain": "www.example.com""#), "/mus_mobile_domain/1/id"
        ),
    ])
    func `an import from a mobile utility server is refused with the place of its defect`(text: String, pointer: String)
        throws
    {
        let plan = try self.plan(text)
        #expect(plan.fatal.map(\.pointer.text) == [pointer], "\(plan.fatal)")
    }

    @Test
    func `an import from a mobile utility server warns where an entry was trusted for less time than its certificate`()
        throws
    {
        let plan = try self.plan(
            Self.detail([#"{"pem": "\#(Self.one.pem)", "expires": 1800000000}"#, Self.two.json]))
        #expect(plan.fatal.isEmpty)
        #expect(
            plan.findings.filter { $0.severity == .warning }.map(\.pointer.text).contains(
                "/domains/0/certificates/0/expires"))
    }

    @Test
    func `an import from a mobile utility server keeps the app's present client settings, unless the file sets them`()
        throws
    {
        var app = try self.app
        let time = Timestamp(seconds: 0)
        app.evolve(.clientSet(.wultra, ClientSettings(entryDays: 90)), at: time)
        let filled = try #require(self.settings(try self.plan(Self.tables(), app)))
        #expect(filled.entryDays == 90 && filled.texts.count == 1)
        app.evolve(.clientSet(.wultra, filled), at: time)
        let same = try self.plan(Self.tables(), app)
        #expect(same.fatal.isEmpty && self.settings(same) == nil)
        app.evolve(
            .clientSet(.wultra, ClientSettings(texts: [try Self.text("other", "de", "x")])), at: time)
        #expect(try self.plan(Self.tables(), app).fatal.count == 1)
    }

    @Test func `an import from a mobile utility server sets that clients understand domains, and never unsets it`()
        throws
    {
        let deep = Self.tables(domain: #", "ssl_pinning_required": false"#)
        var app = try self.app
        let time = Timestamp(seconds: 0)
        app.evolve(.clientSet(.wultra, ClientSettings(entryDays: 90)), at: time)
        let plan = try self.plan(deep, app)
        let taken = try #require(self.settings(plan))
        #expect(taken.understandsDomains && taken.entryDays == 90)
        #expect(plan.steps.contains { $0.contains("domainsConfig") })
        app.evolve(.clientSet(.wultra, taken), at: time)
        #expect(self.settings(try self.plan(deep, app)) == nil)
        #expect(self.settings(try self.plan(Self.tables(), app)) == nil)
    }

    @Test func `an import from a mobile utility server is refused where the file is cut off`() throws {
        let whole = Array(Self.tables().utf8)
        for count in stride(from: 0, to: whole.count, by: 41) {
            let file = ImportedFile(Array(whole.prefix(count)), as: .wultra, for: try AppID("bank"))
            guard case .unreadable(let finding) = file, case .syntax = finding.place else {
                Issue.record("\(count) bytes were read")
                continue
            }
        }
    }
}
