import ClientFormats
import Foundation
import PinWire
import Pinning
import Testing

/// What is said of every kind of client for many apps, word for word, and what is exported for it.
@Suite struct `The golden file of a deployed client` {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    private static let apps: KeyValuePairs<String, ClientApp> = [
        "clean": .clean, "one pin": .onePin, "built in": .builtin, "four pins": .fourPins,
        "four served keys": .fourServed, "under an authority": .underAuthority,
        "beside an authority": .besideAuthority,
        "under an authority that a probe saw": .underAuthority.presenting(leaf(5), authority(8)),
        "two hosts": .twoHosts, "wildcard": .wildcard, "deep wildcard": .deepWildcard, "single": .single,
        "subtree": .subtree, "subtree and host": .subtreeAndHost, "wildcard and host": .wildcardAndHost,
        "subtree without a host": .holedSubtree, "subtree without a subtree": .holedDeeply,
        "wildcard without a host": .holedWildcard, "twins": .twins(subdomains: false),
        "twins with subdomains": .twins(subdomains: true), "kill switch": .killed,
        "kill switch for a host": .hostKilled, "kill switch for versions": .versionKilled,
        "kill switch and another key": .killed.serving(7), "end": .ending, "off": .off, "report only": .reporting,
        "report only and another key": .reporting.serving(7), "candidate": .trial,
        "candidate beside built-in pins": .launch(Rollout(basisPoints: 5000)), "shared name": .sharing,
        "public suffix": ClientApp(hosting(on: host("co.uk"), Keyed(leaf(1, "co.uk")), Keyed(leaf(2, "co.uk")))),
    ]

    /// The kinds in each of their forms, by the names of their files.
    static let forms: [String: (kind: ClientKind, settings: ClientSettings)] = Dictionary(
        uniqueKeysWithValues: clientForms.map { form in
            let variant =
                switch form.settings {
                case .ed25519: "-ed25519"
                case .domains: "-domains"
                case .simple: "-simple"
                case .rawKey: "-raw_key"
                default: ""
                }
            return (form.kind.rawValue + variant, form)
        })

    @Test(arguments: Self.forms.keys.sorted()) func `the matrix of each app is what it was before`(name: String) throws
    {
        let form = try #require(Self.forms[name])
        var text = ""
        /// Findings that were told of an app before, which are named by their numbers.
        var known: [ClientFinding: Int] = [:]
        for (name, app) in Self.apps {
            let matrix = ClientMatrix([form.kind: form.settings], view: try app.view()) { publicSuffixes.contains($0) }
            text += "\n\(name)\n"
            for row in matrix.rows {
                for cell in row.cells {
                    let limits = cell.limits.map(\.rawValue).joined(separator: " ")
                    let severity = cell.severity.map { " \($0.rawValue)" } ?? ""
                    text += "  \(row.host) \(cell.behaviour.rawValue)\(severity): \(limits)\n"
                }
            }
            for column in matrix.columns {
                for finding in column.findings {
                    if let number = known[finding] {
                        text += "  [\(number)]\n"
                    } else {
                        known[finding] = known.count + 1
                        text += "  [\(known.count)] \(finding.json.canonicalText)\n"
                    }
                }
            }
        }
        try Self.compare(text, with: "\(name).txt")
    }

    @Test(arguments: ExportFormat.allCases) func `the export of each app is what it was before`(
        format: ExportFormat
    ) throws {
        var text = ""
        for (name, app) in Self.apps {
            text += "\n\(name)\n"
            do {
                let export = try Export.render(format, of: try app.view())
                text += "  file \(Hex.encode(sha256(export.bytes)))\n"
                text += export.notes.map { "  note: \($0)\n" }.joined()
            } catch let refusal as ExportRefusal {
                text += "  refused: \(refusal)\n"
            }
        }
        try Self.compare(text, with: "export-\(format.rawValue).txt")
    }

    @Test func `every kind in each form and every format has a golden file, and nothing else has`() throws {
        let names = Self.forms.keys.map { "\($0).txt" } + ExportFormat.allCases.map { "export-\($0.rawValue).txt" }
        #expect(try FileManager.default.contentsOfDirectory(atPath: Self.folder.path()).sorted() == names.sorted())
    }

    private static func compare(_ text: String, with name: String) throws {
        let file = Self.folder.appending(path: name)
        if ProcessInfo.processInfo.environment["PINLEDGER_WRITE_GOLDEN"] == "1" {
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: file, encoding: .utf8) == text,
            "write it again with PINLEDGER_WRITE_GOLDEN=1, and look at the difference")
    }
}
