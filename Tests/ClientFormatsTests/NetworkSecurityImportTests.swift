import ClientFormats
import PinWire
import Testing

/// Parts of network security configurations that Android refuses, ignores or reads in another way than one may think
/// (`XmlConfigSource`, `android.util.Base64`).
@Suite struct `A network security configuration` {
    private static let one = "NtNkxtjhfyzuTp4Kht+l7aWRKW5emA8maafBgL7IRcU="
    private static let two = "QkrbGIcx1DgKqBQFPY1fS77+zkTPccM+dJa3/JBtIk8="
    private static let pins = pinSet([one, two])
    private static let sound = "<domain-config><domain>api.example.com</domain>\(pins)</domain-config>"

    private static func pinSet(_ pins: [String], digest: String = "SHA-256") -> String {
        "<pin-set>\(pins.map { "<pin digest='\(digest)'>\($0)</pin>" }.joined())</pin-set>"
    }

    private func imported(_ contents: String) throws -> ImportedPins {
        try ImportedPins(
            Array("<network-security-config>\n\(contents)\n</network-security-config>".utf8), as: .androidNSC)
    }

    /// What stands before the element with the defect, and what follows from it on.
    static let misplaced: [(String, String)] = [
        ("<domain-config><domain>a.example.com", "\(pins)</domain></domain-config>"),
        ("<base-config>", "\(pins)</base-config>"),
        ("<base-config>", "<domain-config><domain>a.example.com</domain>\(pins)</domain-config></base-config>"),
        ("<debug-overrides>", "\(pins)</debug-overrides>"),
        ("", pins),
        ("<domain-config><domain>a.example.com</domain><trust-anchors>", "\(pins)</trust-anchors></domain-config>"),
        ("<domains>", "<domain>a.example.com</domain></domains>"),
        ("<domain-config><domain>a.example.com</domain>", "<pin digest='SHA-256'>\(one)</pin></domain-config>"),
        ("<domain-config><domain>a.example.com</domain>\(pins)", "\(pinSet([one]))</domain-config>"),
        ("", "<domain-config>\(pins)</domain-config>"),
        (
            "<domain-config><domain>a.example.com</domain>\(pins)",
            "<domain-config>\(pins)</domain-config></domain-config>"
        ),
        (
            "<domain-config><domain>a.example.com</domain></domain-config><domain-config>",
            "<domain>a.example.com</domain>\(pins)</domain-config>"
        ),
        (
            "<domain-config><domain>a.example.com</domain><pin-set><pin digest='SHA-256'>",
            "<b/>\(one)</pin></pin-set></domain-config>"
        ),
        ("<base-config/>", "<base-config/>"),
    ]

    @Test(arguments: misplaced)
    func `pins in a network security configuration that no install has are a defect at their place`(
        before: String, rest: String
    ) throws {
        let imported = try self.imported("\(Self.sound)\n\(before)\(rest)")
        let defects = imported.findings.filter(\.isDefect)
        #expect(defects.map(\.line) == [3] && defects.map(\.column) == [before.utf8.count + 1], "\(imported.findings)")
    }

    @Test(arguments: ["SHA-256", "sha-256", "Sha-256"])
    func `a network security configuration may write the digest in any case, except for TrustKit`(digest: String) throws
    {
        let config = "<domain-config><domain>a.example.com</domain>\(Self.pinSet([Self.one, Self.two], digest: digest))"
        let imported = try self.imported("\(config)</domain-config>")
        #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
        #expect(imported.findings.isEmpty)
        let trustKit = try self.imported("\(config)<trustkit-config enforcePinning='true'/></domain-config>")
        #expect(trustKit.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
        #expect(
            trustKit.findings.count == (digest == "SHA-256" ? 0 : 2) && !trustKit.findings.contains(where: \.isDefect))
    }

    @Test(
        arguments: [
            "\(one.prefix(20))\n      \(one.dropFirst(20))", String(one.dropLast()), "  \(one)\t",
            "\(one.dropLast(2))V=",
        ])
    func `a network security configuration may wrap base64 and leave out its padding`(text: String) throws {
        let imported = try self.imported(
            "<domain-config><domain>a.example.com</domain>\(Self.pinSet([text, Self.two]))</domain-config>")
        #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
        #expect(imported.findings.isEmpty)
    }

    @Test(arguments: [String(one.dropLast(2)), one.replacing("/", with: "_").replacing("+", with: "-"), "\(one)A"])
    func `a network security configuration with a pin that Android cannot decode has a defect`(text: String) throws {
        let imported = try self.imported(
            "<domain-config><domain>a.example.com</domain>\(Self.pinSet([text, Self.two]))</domain-config>")
        #expect(imported.findings.map(\.isDefect) == [true])
    }

    @Test(
        arguments: [
            ("<base-config cleartextTrafficPermitted='false'/>", ["cleartextTrafficPermitted", "base-config"]),
            ("<base-config><trust-anchors><certificates src='user'/></trust-anchors></base-config>", ["trust-anchors"]),
            ("<debug-overrides><trust-anchors/></debug-overrides>", ["debug-overrides"]),
            (
                "<domain-config hstsEnforced='true'><domain>example.com</domain></domain-config>",
                ["hstsEnforced", "no pins"]
            ),
            (
                "<domain-config><domain>example.com</domain><trust-anchors/>\(pins)</domain-config>",
                ["trust-anchors of a domain-config"]
            ),
            ("<certificateTransparency enabled='true'/>", ["certificateTransparency"]),
            ("<domain-config><domain other='1'>example.com</domain>\(pins)</domain-config>", ["other"]),
        ])
    func `a network security configuration has every other part in a finding`(part: String, words: [String]) throws {
        let imported = try self.imported("\(Self.sound)\n\(part)")
        let said = imported.findings.map(\.message).joined(separator: "\n")
        #expect(words.allSatisfy(said.contains), "\(said)")
        #expect(!imported.findings.contains(where: \.isDefect) && imported.findings.allSatisfy { $0.line == 3 })
    }

    @Test func `a network security configuration says nothing of other programs' attributes`() throws {
        let text = """
            <network-security-config xmlns:tools="http://schemas.android.com/tools" tools:ignore="x">
            \(Self.sound)</network-security-config>
            """
        #expect(try ImportedPins(Array(text.utf8), as: .androidNSC).findings.isEmpty)
    }
}
