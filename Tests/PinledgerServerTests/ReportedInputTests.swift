import Foundation
import HTTPTypes
import KeyFiles
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

/// Files that people reported, in `Tests/ReportedInputs`, through the routes that read them.
@Suite struct `A reported file` {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "ReportedInputs")

    private static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Self.folder.appending(path: name)))
    }

    private static func text(_ name: String) throws -> String { String(decoding: try Self.bytes(name), as: UTF8.self) }

    private static func material(_ name: String, _ role: String = "primary") throws -> JSON {
        ["material": .string(try Self.text(name)), "role": .string(role)]
    }

    // MARK: Imports

    private func importing(_ name: String, as format: String, _ query: String = "") async throws
        -> InProcessServer.Answer
    {
        let type = name.hasSuffix("json") ? "application/json" : "text/plain"
        return try await InProcessServer.ask(
            .post, "/v1/import/\(format)?app=com.example.new&dry_run=true\(query)", try Self.bytes(name),
            headers: [.contentType: type])
    }

    @Test(
        arguments: [
            ("o01-pinset-under-domain.xml", ["line 3, column 290: ", "inside of a domain"]),
            ("o02-pinset-in-base-config.xml", ["line 3, column 14: ", "No pin-set belongs in base-config"]),
            (
                "o04-dummy-backup-BBBB.xml",
                ["line 3, column 129: ", "a typed pattern", "a backup is the pin of another key"]
            ),
        ] as [(String, [String])])
    func `a reported file that Android refuses, or with a placeholder, is refused at the place`(
        name: String, words: [String]
    ) async throws {
        let answer = try await self.importing(name, as: "android_nsc")
        #expect(answer.problem == "import_refused")
        let errors = answer.body["errors"]?.arrayValue ?? []
        #expect(errors.count == 1)
        let said = errors.first?["detail"]?.stringValue ?? ""
        #expect(words.allSatisfy(said.contains), "\(said)")
    }

    @Test(
        arguments: [
            ("o03-digest-lower-case.xml", "android_nsc", "", 0), ("o05-hpkp-report-only-first.txt", "hpkp", "host=", 1),
            ("o06-hpkp-two-sha512.txt", "hpkp", "host=", 1),
        ] as [(String, String, String, Int)])
    func `a reported file that clients understand is imported as they understand it`(
        name: String, format: String, query: String, warnings: Int
    ) async throws {
        let answer = try await self.importing(name, as: format, query.isEmpty ? "" : "&\(query)api.example.com")
        #expect(answer.status == 200, "\(answer.body)")
        let steps = (answer.body["plan"]?.arrayValue ?? []).compactMap(\.stringValue)
        #expect(steps.contains("add api.example.com with 2 pins, mode enforce"), "\(steps)")
        let said = (answer.body["findings"]?.arrayValue ?? []).filter { $0["severity"] == "warning" }
        #expect(said.count == warnings, "\(said)")
        let text = answer.body.canonicalText
        #expect(text.contains("NtNkxtjhfyzuTp4Kht+l7aWRKW5emA8maafBgL7IRcU=") && !text.contains("1axaJJr5reMzCSc33"))
    }

    @Test(arguments: ["", "\u{FEFF}"]) func `a reported file in which nothing is known is refused`(mark: String)
        async throws
    {
        for format in ["remote-config", "firebase_template"] {
            let answer = try await InProcessServer.ask(
                .post, "/v1/import/\(format)?app=com.example.new&dry_run=true",
                mark + (try Self.text("o07-react-native-pins.json")))
            #expect(answer.problem == "import_refused", "\(answer.body)")
            #expect(answer.body["errors"]?.arrayValue?.first?["detail"]?.stringValue?.contains("no member of") == true)
        }
    }

    // MARK: Keys

    private func adding(_ host: String = "new.example.com", _ pins: JSON...) async throws -> InProcessServer.Answer {
        let body: JSON = [
            "host": .string(host), "baseline": ["source": "document", "mode": "enforce", "pins": .array(pins)],
        ]
        return try await InProcessServer.ask(
            .post, "/v1/apps/\(InProcessServer.app)/hosts?dry_run=true", body.canonicalText)
    }

    private func findings(_ answer: InProcessServer.Answer, _ code: String) -> [JSON] {
        (answer.body["guard_rail_findings"]?.arrayValue ?? []).filter { $0["code"]?.stringValue == code }
    }

    @Test func `a reported fingerprint of a browser is no pin, as material and as a pin`() async throws {
        let text = try Self.text("o08-browser-fingerprint.txt").filter { !$0.isNewline }
        let plain = text.replacing(":", with: "")
        for digits in [
            text, text.lowercased(), plain, text.replacing(":", with: " "), "sha256/\(plain)",
            "pin-sha256=\"\(plain)\"",
            "SHA256 Fingerprint=\(text)", "SHA256: \(text)\n", "\(plain)  -\n",
        ] {
            for member in ["material", "pin"] {
                let answer = try await self.adding(
                    "new.example.com", [member: .string(digits), "role": "primary"],
                    try Self.material("b1.csr", "backup"))
                #expect(answer.status == 422 && answer.pointers == ["/baseline/pins/0/\(member)"], "\(answer.body)")
                let said = answer.body["errors"]?.arrayValue?.first?["detail"]?.stringValue ?? ""
                #expect(said.contains("(G40)"), "\(said)")
            }
        }
    }

    @Test(
        arguments: [
            ("o09-secp256k1.pem", "block", "the curve secp256k1, which TLS clients refuse"),
            ("o09-secp256k1.csr", "block", "the curve secp256k1, which TLS clients refuse"),
            ("o09-ed25519.pem", "override", "no public authority certifies one"),
        ] as [(String, String, String)])
    func `a reported key that clients refuse is refused`(name: String, severity: String, words: String) async throws {
        let answer = try await self.adding(
            "api2.example.com", try Self.material("o09-p256.pem"), try Self.material(name, "backup"))
        let found = self.findings(answer, "G21")
        #expect(found.map { $0["severity"]?.stringValue } == [severity], "\(answer.body)")
        #expect(found.first?["detail"]?.stringValue?.contains(words) == true, "\(found)")
        #expect(found.first?["remedy"]?.stringValue?.contains("25519") == false)
    }

    @Test func `a reported chain with a root of the first version has its server's key`() throws {
        var bytes = try Self.bytes("o10-chain-with-v1-root.pem")
        let upload = try Upload.read(&bytes)
        let key = try UploadedKey(upload, known: nil)
        guard case .certificate(let facts)? = key.evidence else {
            Issue.record("the server's certificate was to be found")
            return
        }
        #expect(facts.commonName == "api.example.com" && upload.items.first == .certificate(facts))
    }

    @Test(
        arguments: [
            (" ", " "), ("\t", ""), ("", "\r\n"), ("\"", "\","), ("", ";"), ("pin-sha256=\"", "\";"),
            ("pin-sha256=\"", "\"; max-age=60"), ("\u{FEFF}", ""), ("'sha256//", "'"),
        ] as [(String, String)])
    func `a reported pin is the same with what is pasted along, as material and as a pin`(before: String, after: String)
        async throws
    {
        let digest = try Self.text("b2.pin").filter { !$0.isNewline }
        for member in ["material", "pin"] {
            let answer = try await self.adding(
                "new.example.com", [member: .string(before + digest + after), "role": "backup"],
                try Self.material("b1.csr", "primary"))
            // The rails ask for the key itself, and name the pin that was read.
            let said = answer.body.canonicalText
            #expect(answer.pointers.isEmpty && said.contains("sha256/\(digest)"), "\(said)")
        }
    }

    @Test func `hexadecimal digits are the pin of a key that the app has`() async throws {
        let pin = try #require(InProcessServer.pin("primary"))
        let pins = "/v1/apps/\(InProcessServer.app)/hosts/\(InProcessServer.host)/pins?dry_run=true"
        for (text, isKnown) in [(pin, true), (try #require(InProcessServer.pin("unknown")), false)] {
            for member in ["material", "pin"] {
                let answer = try await InProcessServer.ask(
                    .post, pins, "{\"\(member)\":\"\(Hex.encode(text.bytes))\",\"role\":\"backup\"}")
                // The served key is no backup, which is found where the digits are read as its pin.
                #expect(answer.problem == (isKnown ? "guard_rail" : "invalid_value"), "\(answer.body)")
                #expect(answer.body.canonicalText.contains(isKnown ? "G41" : "(G40)"), "\(answer.body)")
            }
        }
    }

    @Test func `another hash of a key that the app has is named, with its pin`() throws {
        var app = App(id: try AppID("com.example.shop"), displayName: "Shop", createdAt: Timestamp(seconds: 0))
        var bytes = try Self.bytes("o09-p256.pem")
        let evidence = try #require(try UploadedKey(try Upload.read(&bytes), known: nil).evidence)
        app.keys[evidence.key.pin] = KeyKnowledge(evidence)
        let known = KnownKeys(of: app)
        guard case .certificate(let certificate) = evidence else {
            Issue.record("a certificate was to be found")
            return
        }
        #expect(
            try UploadedKey(written: Hex.encode(certificate.key.pin.bytes), known: known).pin == certificate.key.pin)
        for digest in [certificate.sha256, certificate.sha1, certificate.key.rawKeySHA256] {
            do throws(UploadedKey.Ambiguity) {
                _ = try UploadedKey(written: Hex.encode(digest), known: known)
                Issue.record("a fingerprint was taken")
            } catch {
                #expect(error.description.contains("the pin of that key is \(certificate.key.pin)"), "\(error)")
            }
        }
    }

    @Test(arguments: ["sha256//", "", "pin-sha256=", "sha256/"])
    func `a reported pin is taken in every spelling that says so`(beginning: String) throws {
        let digest = try Self.text("b2.pin").filter { !$0.isNewline }
        #expect(try UploadedKey(written: beginning + digest, known: nil).pin.description == "sha256/\(digest)")
    }
}
