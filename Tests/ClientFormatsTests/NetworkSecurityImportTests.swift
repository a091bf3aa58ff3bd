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

    @Test func `a network security configuration with two trustkit-configs has a finding of that`()
        throws
    {
        let settings = "<trustkit-config enforcePinning='false'/><trustkit-config enforcePinning='true'/>"
        let imported = try self.imported(Self.sound.replacing("</domain-config>", with: "\(settings)</domain-config>"))
        #expect(imported.hosts.map(\.mode) == [.enforce])
        #expect(imported.findings.map(\.isDefect) == [false], "\(imported.findings)")
        #expect(imported.findings.first?.message.contains("last trustkit-config") == true)
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

    /// Texts that `SimpleDateFormat("yyyy-MM-dd")` of OpenJDK 17 takes when it is not lenient, and the day.
    @Test(
        arguments: [
            ("2027-01-05", "2027-01-05"), ("2027-1-5", "2027-01-05"), ("2027-01-05T00:00:00Z", "2027-01-05"),
            (" \t2027-01-05 ", "2027-01-05"), ("2027- 1- 5", "2027-01-05"), ("2027-001-0005x", "2027-01-05"),
            ("2028-2-29-1", "2028-02-29"), ("27-01-05", "0027-01-05"), ("0000002027-01-05", "2027-01-05"),
        ])
    func `a network security configuration ends its pins on the day that Android reads`(text: String, day: String)
        throws
    {
        let imported = try self.imported(Self.sound.replacing("<pin-set>", with: "<pin-set expiration='\(text)'>"))
        #expect(imported.hosts.map { $0.validUntil?.rfc3339 } == ["\(day)T00:00:00Z"])
        #expect(imported.findings.map(\.isDefect) == (text == day ? [] : [false]))
        #expect(imported.findings.allSatisfy { $0.message.contains(day) && $0.advice != nil })
    }

    /// Texts at which it throws.
    @Test(
        arguments: [
            "", " ", "soon", "05/01/2027", "2027-02-30", "2027-13-01", "2027-00-01", "2027-01-00", "2027-01",
            "2027-01-",
            "2027/01/05", "20270105", "2027-1 -5", "+2027-01-05", "-2027-01-05", "2027--1-05", "0000-01-01",
            "2027-Jan-05",
            "2027-01-051", "99999999999-01-01", "2027-02-29", "1900-02-29", "12027-02-30",
        ])
    func `a network security configuration with an end that Android refuses has a defect`(text: String) throws {
        for set in ["<pin-set expiration='\(text)'>", "<pin-set other='1' expiration=\"\(text)\">"] {
            let imported = try self.imported(Self.sound.replacing("<pin-set>", with: set))
            #expect(
                imported.findings.count(where: \.isDefect) == 1 && imported.hosts.allSatisfy { $0.validUntil == nil })
        }
    }

    @Test func `a network security configuration may end its pins after all years of a ledger`() throws {
        let imported = try self.imported(Self.sound.replacing("<pin-set>", with: "<pin-set expiration='12027-01-05'>"))
        #expect(imported.hosts.map(\.validUntil) == [nil] && imported.findings.map(\.isDefect) == [false])
    }

    @Test(
        arguments: [
            ("<domain>", "<domain a:includeSubdomains='true'>", "includeSubdomains"),
            ("<domain>", "<domain tools:includeSubdomains='true'>", "includeSubdomains"),
            ("<pin-set", "<pin-set a:expiration='2027-01-01'", "expiration"),
            ("<pin digest='SHA-256'>\(one)", "<pin a:digest='SHA-256' digest='SHA-256'>\(one)", "digest"),
            ("<domain-config", "<domain-config a:cleartextTrafficPermitted='true'", "cleartextTrafficPermitted"),
        ])
    func `a network security configuration has attributes with a name space in findings, and does not read them`(
        element: String, with: String, name: String
    ) throws {
        var text = Self.sound
        let place = try #require(text.firstRange(of: element))
        text.replaceSubrange(place, with: with)
        let imported = try self.imported(text)
        #expect(imported.findings.map(\.isDefect) == [false])
        #expect(imported.findings.allSatisfy { $0.message.contains(":\(name)=") })
        #expect(imported.hosts.map(\.includesSubdomains) == [false] && imported.hosts.map(\.validUntil) == [nil])
        #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
    }

    /// An element that Android refuses or ignores where it stands, and how many findings are about it.
    @Test(
        arguments: [
            ("<base-config cleartextTrafficPermitted='false'>\(pins)</base-config>", 1),
            ("<base-config><domain-config><domain>a.example.com</domain>\(pins)</domain-config></base-config>", 1),
            ("<base-config><domain>a.example.com</domain></base-config>", 1),
            ("<debug-overrides>\(pins)</debug-overrides>", 1), ("<base-config/><base-config/>", 2), (pins, 1),
            ("<domain-config><domain>a.example.com</domain>\(pins)<pin>\(one)</pin></domain-config>", 1),
            ("<trust-anchors/>", 1), ("<trustkit-config/>", 1),
        ])
    func `a network security configuration has no finding that contradicts another`(part: String, count: Int) throws {
        let findings = try self.imported("\(Self.sound)\n\(part)").findings
        #expect(findings.count == count, "\(findings)")
        let said = findings.map(\.message).joined(separator: "\n")
        #expect(!said.contains("not known"))
        #expect(!said.contains("keep it") || count == 2, "one of two is kept")
    }

    @Test func `a network security configuration may have its texts in CDATA sections`() throws {
        let text =
            "<domain-config><domain>api.<![CDATA[example.com]]></domain>"
            + "\(Self.pinSet(["<![CDATA[\(Self.one)]]>", Self.two]))</domain-config>"
        let imported = try self.imported(text)
        #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
        #expect(imported.hosts.map(\.pattern.text) == ["api.example.com"] && imported.findings.isEmpty)
    }

    @Test func `a network security configuration has its placeholders as they are written`() throws {
        let typed = String(repeating: "B", count: 43) + "="
        let imported = try self.imported(
            "<domain-config><domain>api.example.com</domain>\n\(Self.pinSet([Self.one, " \(typed)"]))</domain-config>")
        let found = imported.placeholders
        #expect(found.map(\.text) == [typed] && found.map(\.line) == [3] && found.map(\.column) == [82], "\(found)")
    }

    @Test func `a network security configuration says nothing of other programs' attributes`() throws {
        let text = """
            <network-security-config xmlns:tools="http://schemas.android.com/tools" tools:ignore="x">
            \(Self.sound)</network-security-config>
            """
        #expect(try ImportedPins(Array(text.utf8), as: .androidNSC).findings.isEmpty)
    }
}
