import HTTPTypes
import PinWire
import Testing

@testable import PinledgerServer

/// Files that no import takes, with the places of all their defects. `EndToEnd/test_import.py` and
/// `EndToEnd/test_import_formats.py` send one to each reader over a connection.
@Suite struct `A request to import` {
    private static let one = InProcessServer.pin("one")?.description ?? ""
    private static let two = InProcessServer.pin("two")?.description ?? ""

    private static func long(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    /// A text with pins in place of `$1` and `$2`, and with both in place of `$0`.
    private static func filled(_ text: String) -> String {
        text.replacing("$0", with: #"{"primary": "$1", "backup": "$2"}"#).replacing("$1", with: Self.one)
            .replacing("$2", with: Self.two).replacing("$3", with: Self.one.dropFirst(7))
    }

    // MARK: Remote configuration

    /// The places of what is refused; the file is refused as a whole.
    private func refused(_ configuration: String) async throws -> Set<String> {
        let answer = try await InProcessServer.refused(
            .post, "/v1/import/remote-config?app=com.example.new", Self.filled(configuration))
        #expect(answer.problem == (answer.status == 422 ? "import_refused" : "malformed_json"), "\(answer.body)")
        #expect([400, 422].contains(answer.status) && !answer.pointers.isEmpty)
        return Set(answer.pointers)
    }

    @Test(arguments: [
        "API.example.com", "https://api.example.com", "api.example.com/path", "api.example.com:443", "192.0.2.1", "::1",
        "[2001:db8::1]", "api.example.com.", "*.*.example.com", "api.*.example.com", "*", "*.", "api..example.com",
        ".example.com", "m\u{fc}nchen.example.com", "a_b.example.com", "-a.example.com", "a-.example.com",
        "xn--a.example.com", " api.example.com", "", long("a", 64) + ".example.com",
        long(long("a", 60) + ".", 4) + long("a", 60),
        "example.123", "api.example.com\u{0}",
    ])
    func `a malformed host of an imported file is named`(name: String) async throws {
        let hosts: JSON = .object([name: ["pins": ["primary": .string(Self.one), "backup": .string(Self.two)]]])
        #expect(
            try await self.refused(JSON.object(["hosts": hosts]).canonicalText) == [JSONPointer(["hosts", name]).text])
        let targets: JSON = .array([.string(name.isEmpty ? "." : name)])
        #expect(try await self.refused(JSON.object(["target_hosts": targets]).canonicalText) == ["/target_hosts/0"])
    }

    @Test(arguments: ["com", "co.uk", "github.io", "*.com", "*.co.uk", "xn--p1ai", "localhost"])
    func `a public suffix of an imported file is named`(name: String) async throws {
        #expect(try await self.refused(#"{"hosts": {"\#(name)": {"pins": $0}}}"#) == ["/hosts/\(name)"])
    }

    @Test(
        arguments: [
            (#"{"pins": {"primary": "$1", "backup": "$1"}}"#, "/pins/primary"),
            (#"{"pins": {"primary": "$1"}}"#, "/pins"), (#"{"pins": {"backup": "$2"}}"#, "/pins"),
            (#"{"pins": {"primary": "$1", "backup": null}}"#, "/pins"), (#"{"pins": {}}"#, "/pins"),
            (#"{"pins": null}"#, "/pins"), (#"{"pins": []}"#, "/pins"),
            (#"{"pins": {"primary": "$1", "backup": "$2", "spare": "$2"}}"#, "/pins/spare"),
            (#"{"pins": {"primary": 7, "backup": "$2"}}"#, "/pins/primary"),
            (#"{"pins": {"primary": "", "backup": "$2"}}"#, "/pins/primary"),
            (#"{"pins": {"primary": "sha256/", "backup": "$2"}}"#, "/pins/primary"),
            (#"{"pins": {"primary": "sha1/$3", "backup": "$2"}}"#, "/pins/primary"),
            (
                #"{"pins": {"primary": "sha256/mGobcTX0mGFQql+gAo/uqmbNrz7WoAo1XdhuBC9/tJ", "backup": "$2"}}"#,
                "/pins/primary"
            ),
            (
                #"{"pins": {"primary": "2f5d85f5627695ddd7d0097d616259d38019d8a83333106da12511162a15aeea", "backup": "$2"}}"#,
                "/pins/primary"
            ),
            (#"{"pins": {"primary": "$1\n", "backup": "$2"}}"#, "/pins/primary"),
            (
                #"{"pins": {"primary": "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "backup": "$2"}}"#,
                "/pins/primary"
            ),
            (
                #"{"pins": {"primary": "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "backup": "$2"}}"#,
                "/pins/primary"
            ),
            (#"{"pins": $0, "rollout_percentage": 101}"#, "/rollout_percentage"),
            (#"{"pins": $0, "rollout_percentage": -1}"#, "/rollout_percentage"),
            (#"{"pins": $0, "rollout_percentage": 0.001}"#, "/rollout_percentage"),
            (#"{"pins": $0, "rolloutPercentage": "50"}"#, "/rolloutPercentage"),
            (#"{"pins": $0, "rollout_percentage": 50, "rolloutPercentage": 60}"#, "/rolloutPercentage"),
            (#"{"pins": $0, "enabled": "yes"}"#, "/enabled"),
        ] as [(String, String)])
    func `a defect of an imported host is named`(host: String, pointer: String) async throws {
        #expect(
            try await self.refused(#"{"hosts": {"api.example.com": \#(host)}}"#) == ["/hosts/api.example.com\(pointer)"]
        )
    }

    @Test(
        arguments: [
            (#""rollout_percentage": -1"#, "/rollout_percentage"),
            (#""rollout_percentage": 100.01"#, "/rollout_percentage"),
            (#""rollout_percentage": 101"#, "/rollout_percentage"),
            (#""rollout_percentage": 12.345"#, "/rollout_percentage"),
            (#""rollout_percentage": "50""#, "/rollout_percentage"),
            (#""rollout_percentage": true"#, "/rollout_percentage"),
            (#""rollout_percentage": []"#, "/rollout_percentage"),
            (#""rollout_percentage": {}"#, "/rollout_percentage"),
            (#""rollout_percentage": 1e+300"#, "/rollout_percentage"),
            (#""rollout_percentage": 20, "rolloutPercentage": 30"#, "/rolloutPercentage"),
            (#""enabled": 1"#, "/enabled"), (#""enabled": "true""#, "/enabled"),
            (#""rollout_strategy": []"#, "/rollout_strategy"),
            (#""rollout_strategy": {"method": "magic"}"#, "/rollout_strategy/method"),
            (#""rollout_strategy": {"method": "geography"}"#, "/rollout_strategy/method"),
            (#""rollout_strategy": {"seed": "imei"}"#, "/rollout_strategy/seed"),
            (#""rollout_strategy": {"sticky": "yes"}"#, "/rollout_strategy/sticky"),
            (#""fallback": "builtin""#, "/fallback"),
            (#""fallback": {"use_builtin_pins": 1}"#, "/fallback/use_builtin_pins"),
            (
                #""fallback": {"builtin_pin_hosts": ["a.example.com", "B.example.com"]}"#,
                "/fallback/builtin_pin_hosts/1"
            ),
            (#""monitoring": 5"#, "/monitoring"),
            (#""monitoring": {"failure_threshold": 0}"#, "/monitoring/failure_threshold"),
            (#""monitoring": {"failure_threshold": "5.0"}"#, "/monitoring/failure_threshold"),
            (#""monitoring": {"auto_disable": "no"}"#, "/monitoring/auto_disable"),
            (#""target_hosts": 7"#, "/target_hosts"),
            (#""target_hosts": ["login.example.com", 7]"#, "/target_hosts/1"),
            (#""target_hosts": ["login.example.com", "login.example.com"]"#, "/target_hosts/1"),
            (#""target_hosts": "api.example.com""#, "/target_hosts"),
            (#""min_app_version": """#, "/min_app_version"), (#""min_app_version": "1.x""#, "/min_app_version"),
            (#""min_app_version": "1.2.3.4.5""#, "/min_app_version"),
            (#""min_app_version": "v1.0""#, "/min_app_version"),
            (#""min_app_version": 15"#, "/min_app_version"), (#""min_app_version": 1.5"#, "/min_app_version"),
            (#""min_app_version": true"#, "/min_app_version"),
            (#""min_app_version": "1..2""#, "/min_app_version"),
            (#""min_app_version": " 1.0""#, "/min_app_version"),
            (#""min_app_version": "1.0-""#, "/min_app_version"),
            (#""min_app_version": "99999999999999999999""#, "/min_app_version"),
        ] as [(String, String)])
    func `a defect of an imported configuration is named, in an envelope too`(
        members: String, pointer: String
    ) async throws {
        let configuration = #"{"hosts": {"api.example.com": {"pins": $0}}, \#(members)}"#
        #expect(try await self.refused(configuration) == [pointer])
        let envelope = #"{"ssl_pinning_config": \#(configuration)}"#
        #expect(try await self.refused(envelope) == ["/ssl_pinning_config\(pointer)"])
    }

    @Test func `two minimum versions that contradict each other are named`() async throws {
        let found = try await self.refused(
            #"{"hosts": {"api.example.com": {"pins": $0}}, "min_app_version": "1.0", "minAppVersion": "2.0"}"#)
        #expect(found.isSubset(of: ["/min_app_version", "/minAppVersion"]))
    }

    @Test(
        arguments: [
            ("[]", ""), (#""text""#, ""), ("7", ""), ("null", ""),
            (#"{"ssl_pinning_config": []}"#, "/ssl_pinning_config"),
            (#"{"ssl_pinning_config": null}"#, "/ssl_pinning_config"),
            (#"{"ssl_pinning_config": "{\"enabled\":"}"#, "/ssl_pinning_config"), (#"{"hosts": []}"#, "/hosts"),
            (#"{"hosts": {"api.example.com": 7}}"#, "/hosts/api.example.com"),
        ] as [(String, String)])
    func `an imported file of another shape is refused`(file: String, pointer: String) async throws {
        #expect(try await self.refused(file) == [pointer])
    }

    @Test(
        arguments: [
            (#"{"enabled": true, "enabled": false}"#, "/enabled"),
            (#"{"hosts": {"api.example.com": {}, "api.example.com": {}}}"#, "/hosts/api.example.com"),
            (
                #"{"hosts": {"api.example.com": {"pins": {"primary": "a", "primary": "b"}}}}"#,
                "/hosts/api.example.com/pins/primary"
            ),
            (#"{"enabled": true, "en\u0061bled": true}"#, "/enabled"),
        ] as [(String, String)])
    func `a member that stands twice in an imported file is refused at its place`(
        file: String, pointer: String
    ) async throws {
        #expect(try await self.refused(file) == [pointer])
    }

    // MARK: Other formats

    private static let hostName = "api.example.com"

    private static func nsc(_ pins: [String], host: String = hostName, encoding: String = "utf-8") -> String {
        let list = pins.map { "<pin digest=\"SHA-256\">\($0.dropFirst(7))</pin>\n" }.joined()
        return """
            <?xml version="1.0" encoding="\(encoding)"?>
            <network-security-config>
            <domain-config>
            <domain>\(host)</domain>
            <pin-set>
            \(list)</pin-set>
            </domain-config>
            </network-security-config>

            """
    }

    private static func plist(_ content: String) -> String { "<plist version=\"1.0\">\n\(content)\n</plist>" }

    private static let trustkit: String = {
        let hashes = [one, two].map { "<string>\($0.dropFirst(7))</string>" }.joined()
        return plist(
            "<dict><key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict><key>\(hostName)</key>"
                + "<dict><key>TSKPublicKeyHashes</key><array>\(hashes)</array></dict></dict></dict></dict>")
    }()

    private static let ats: String = {
        let identities = [one, two].map {
            "<dict><key>SPKI-SHA256-BASE64</key><string>\($0.dropFirst(7))</string></dict>"
        }
        return plist(
            "<dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict><key>\(hostName)</key>"
                + "<dict><key>NSPinnedLeafIdentities</key><array>\(identities.joined())</array></dict>"
                + "</dict></dict></dict>"
        )
    }()

    /// A document type whose entities hold ten of the one before, nine times.
    private static let entities: String = {
        let names = Array("abcdefghij").map(String.init)
        let chain = zip(names, names.dropFirst()).map { "<!ENTITY \($1) '\(long("&\($0);", 10))'>" }.joined()
        return "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'>\(chain)]><network-security-config>&j;</network-security-config>"
    }()

    struct File: CustomTestStringConvertible, Sendable {
        var name: String
        var format: String
        var bytes: [UInt8]
        var testDescription: String { self.name }

        init(_ name: String, _ format: String, _ bytes: [UInt8]) {
            (self.name, self.format, self.bytes) = (name, format, bytes)
        }

        init(_ name: String, _ format: String, _ text: String) { self.init(name, format, Array(text.utf8)) }
    }

    static let files: [File] = [
        File("entities of entities", "android_nsc", entities),
        File(
            "a document type elsewhere", "android_nsc",
            "<!DOCTYPE a SYSTEM 'http://127.0.0.1:1/x'><network-security-config/>"),
        File(
            "an entity of a file", "android_nsc",
            "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><network-security-config>&x;</network-security-config>"
        ),
        File("deep elements", "android_nsc", long("<a>", 100_000)),
        File(
            "many attributes", "android_nsc",
            "<network-security-config " + (0..<100_000).map { "a\($0)=''" }.joined(separator: " ") + "/>"),
        File(
            "many domains", "android_nsc",
            nsc([one, two]).replacing("<domain>", with: long("<domain>x.example.com</domain>", 20_000) + "<domain>")),
        File(
            "many elements", "android_nsc",
            "<network-security-config>" + long("<x/>", 200_000) + "</network-security-config>"),
        File("an instruction", "android_nsc", "<?php system('x') ?><network-security-config/>"),
        File("a CDATA section", "android_nsc", "<network-security-config><![CDATA[x]]></network-security-config>"),
        File("another encoding's name", "android_nsc", nsc([one, two], encoding: "utf-16")),
        File(
            "UTF-16", "android_nsc",
            [0xFF, 0xFE] + nsc([one, two]).utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }),
        File("a file cut short", "android_nsc", String(nsc([one, two]).dropLast(30))),
        File("a pin cut short", "android_nsc", nsc([one, String(two.dropLast(4))])),
        File("an address for a host", "android_nsc", nsc([one, two], host: "192.0.2.1")),
        File("a public suffix for a host", "android_nsc", nsc([one, two], host: "co.uk")),
        File("the pin of nothing", "android_nsc", nsc([one, "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="])),
        File("no pins", "android_nsc", nsc([])),
        File("nothing", "android_nsc", ""),
        File("no text", "android_nsc", [0xFF, 0xFE, 0]),
        File("TrustKit for Android", "android_nsc", trustkit),
        File("Android for TrustKit", "trustkit_ios", nsc([one, two])),
        File("App Transport Security for TrustKit", "trustkit_ios", ats),
        File("a binary property list", "apple_ats", [UInt8]("bplist00".utf8) + [1, 2]),
        File("deep arrays", "apple_ats", "<plist>" + long("<array>", 50_000)),
        File("a key twice", "apple_ats", plist("<dict>" + long("<key>k</key><true/>", 2) + "</dict>")),
        File("many lines", "hpkp", long("x\n", 400_000)),
        File("a long line", "hpkp", "Host: " + long("a", 500_000)),
        File("many quotes", "hpkp", "Public-Key-Pins: " + long(";\"", 400_000)),
        File("null bytes", "hpkp", [UInt8](repeating: 0, count: 1000)),
    ]

    @Test(arguments: files)
    func `a hostile or broken file is refused as a whole`(file: File) async throws {
        let answer = try await InProcessServer.ask(
            .post, "/v1/import/\(file.format)?app=com.example.new", file.bytes,
            headers: [.contentType: "application/octet-stream"])
        #expect(answer.headers[.contentType] == "application/problem+json")
        #expect(answer.status == 422 && answer.problem == "import_refused", "\(answer.problem ?? "")")
        #expect(answer.body["errors"]?.arrayValue?.isEmpty == false && answer.count < 3_000_000)
    }

    @Test(
        arguments: [
            ("android_nsc", "application/json", "", 415, "unsupported_media_type"),
            ("android_nsc", "text/xml; charset=iso-8859-1", "", 415, "unsupported_media_type"),
            ("android_nsc", "image/png", "", 415, "unsupported_media_type"),
            ("hpkp", "application/xml", "", 415, "unsupported_media_type"),
            ("wultra", "text/plain", "", 415, "unsupported_media_type"),
            ("firebase_template", "application/octet-stream", "", 415, "unsupported_media_type"),
            ("trustkit_android", "application/xml", "", 400, "malformed_request"),
            ("okhttp", "application/xml", "", 400, "malformed_request"),
            ("remote_config", "application/json", "", 400, "malformed_request"),
            ("android_nsc", "application/xml", "&host=api.example.com", 400, "malformed_request"),
            ("hpkp", "text/plain", "&host=*.example.com", 400, "malformed_request"),
            ("hpkp", "text/plain", "&host=Example.com", 400, "malformed_request"),
            ("android_nsc", "application/xml", "&condition=x", 400, "malformed_request"),
            ("android_nsc", "application/xml", "&parameter=x", 400, "unknown_parameter"),
            ("wultra", "application/json", "", 422, "import_refused"),
        ] as [(String, String, String, Int, String)])
    func `a request to import that contradicts its format is refused`(
        format: String, type: String, query: String, status: Int, problem: String
    ) async throws {
        let answer = try await InProcessServer.refused(
            .post, "/v1/import/\(format)?app=com.example.new\(query)", Self.nsc([Self.one, Self.two]),
            headers: [.contentType: type])
        #expect(answer.status == status && answer.problem == problem, "\(answer.body)")
    }
}
