import Foundation
import KeyFiles
import PinWire
import Testing

@testable import ClientFormats
@testable import Keys
@testable import PinledgerServer

extension InputReader {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// The files of a folder of test data. A folder without any fails the run: its reader would be given noise alone.
    static func files(_ folder: String, ending suffix: String = "") -> [[UInt8]] {
        let path = Self.root.appending(path: folder)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path.path)) ?? []
        let files = names.sorted().filter { $0.hasSuffix(suffix) }.compactMap {
            (try? Data(contentsOf: path.appending(path: $0))).map(Array.init)
        }
        if files.isEmpty { Issue.record("\(path.path) has no files to make inputs of") }
        return files
    }

    private static let pin = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    private static func imported(_ name: String, _ seeds: [String], _ frames: [Frame]) -> InputReader {
        InputReader("a file to import as \(name)", seeds: seeds, frames: frames + [Frame()]) { input in
            guard let format = ImportedFile.Format(name) else { return }
            let id = try AppID("com.example.app")
            let file = ImportedFile(input, as: format, for: id, host: try HostPattern("a.example.com"))
            use(file.plan(for: id, nil, at: Timestamp(seconds: 1_769_860_800), isPublicSuffix: { $0 == "com" }))
        }
    }

    /// Files that operators upload, or name to the command line.
    static let files: [InputReader] = [
        InputReader(
            "a certificate or a key", bytes: files("KeyFilesTests/Vectors/seeds"),
            frames: [
                Frame(), Frame("-----BEGIN ", "-----\nAA==\n-----END A-----\n"),
                Frame("-----BEGIN CERTIFICATE-----\n", "\n-----END CERTIFICATE-----\n"), Frame("sha256/"),
                Frame(#"{"kty":""#, #""}"#), Frame(#"{"keys":[{""#, #"":1}]}"#), Frame("{"),
            ],
            read: { input in
                var input = input
                use(try Upload.read(&input))
            }),
        InputReader(
            "a pin as people write it",
            seeds: [
                "sha256//\(pin)", "pin-sha256=\"\(pin)\"", "\(pin.dropLast())",
                Array(repeating: "ab", count: 32).joined(separator: ":"),
            ],
            frames: [
                Frame(), Frame("sha256/"), Frame("'", "'"), Frame("pin-sha256=\"", "\""), Frame("SHA256 Fingerprint="),
                Frame("", " "), Frame("ab "),
            ],
            read: { input in use(try WrittenPin(String(decoding: input, as: UTF8.self))) }),
        InputReader(
            "a private key",
            seeds: ["-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n"],
            bytes: [
                [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
                    + Array(repeating: 7, count: 32)
            ],
            frames: [Frame(), Frame("-----BEGIN ", "-----"), Frame("-----BEGIN PRIVATE KEY-----\n")],
            read: { input in
                for algorithm in ClientKeyAlgorithm.allCases {
                    use(try? PrivateKeyMaterial(importing: input, as: algorithm))
                }
            }),
        imported(
            "android_nsc",
            [
                """
                <?xml version="1.0" encoding="utf-8"?><!-- x --><network-security-config><domain-config>
                <domain includeSubdomains="true">api.example.com</domain><pin-set expiration="2027-01-01">
                <pin digest="SHA-256">\(pin)</pin></pin-set></domain-config></network-security-config>
                """
            ],
            [
                Frame(
                    "<network-security-config><domain-config><domain>",
                    "</domain></domain-config></network-security-config>"),
                Frame(#"<network-security-config x=""#, #""/>"#), Frame("<a><!--", "--></a>"), Frame("<a>", "</a>"),
                Frame("<network-security-config>", "</network-security-config>"),
            ]),
        imported(
            "trustkit_ios",
            [
                """
                <plist><dict><key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict>
                <key>api.example.com</key><dict><key>TSKEnforcePinning</key><true/>
                <key>TSKPublicKeyHashes</key><array><string>\(pin)</string></array>
                </dict></dict></dict></dict></plist>
                """
            ],
            [
                Frame("<plist><dict><key>", "</key><true/></dict></plist>"), Frame("<plist><dict>", "</dict></plist>"),
                Frame("<plist><dict><key>TSKPinnedDomains</key><dict><key>", "</key><dict/></dict></dict></plist>"),
            ]),
        imported(
            "apple_ats",
            [
                """
                <plist><dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict>
                <key>api.example.com</key>
                <dict><key>NSIncludesSubdomains</key><true/><key>NSPinnedLeafIdentities</key><array><dict>
                <key>SPKI-SHA256-BASE64</key><string>\(pin)</string></dict></array></dict></dict></dict></dict></plist>
                """
            ], [Frame("<plist><dict><key>NSPinnedDomains</key><dict><key>", "</key><dict/></dict></dict></plist>")]),
        imported(
            "hpkp",
            [#"Host: api.example.com\#nPublic-Key-Pins: pin-sha256="\#(pin)"; max-age=5184000; includeSubDomains"#],
            [
                Frame("Public-Key-Pins: "), Frame(#"Public-Key-Pins: pin-sha256=""#, #""; max-age=1"#), Frame("Host: "),
                Frame("Public-Key-Pins: max-age=1; "),
            ]),
        imported(
            "firebase_template",
            [
                #"{"conditions":[],"parameters":{"ssl_pinning_config":{"defaultValue":"#
                    + #"{"value":"{\"ssl_pinning\":{}}"}}}}"#,
                String(decoding: files("../deploy/example").first ?? [], as: UTF8.self),
            ],
            [
                Frame(#"{"parameters":{""#, #"":{"defaultValue":{"value":"{}"}}}}"#),
                Frame(#"{"parameters":{"a":{"defaultValue":{"value":""#, #""}}}}"#),
                Frame(#"{"conditions":[{"name":""#, #""}],"parameters":{}}"#),
            ]),
        imported(
            "wultra", [#"{"app":{"name":"com.example.app","fingerprints":[]}}"#],
            [Frame(#"{"app":{"name":""#, #""}}"#), Frame(#"{""#, #"":[]}"#)]),
    ]
}
