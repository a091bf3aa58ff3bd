import ClientFormats
import PinWire
import Testing

/// Headers of RFC 7469 of which more than one counts for a host, or that are written in several lines.
@Suite struct `A header with pins` {
    private static let one = "NtNkxtjhfyzuTp4Kht+l7aWRKW5emA8maafBgL7IRcU="
    private static let two = "QkrbGIcx1DgKqBQFPY1fS77+zkTPccM+dJa3/JBtIk8="
    private static let three = "1axaJJr5reMzCSc33GuZYZ5r1oT0f9Y4ax4xticzwlU="
    private static let enforcing = "Public-Key-Pins: pin-sha256=\"\(one)\"; pin-sha256=\"\(two)\"; max-age=5184000"
    private static let reporting = "Public-Key-Pins-Report-Only: pin-sha256=\"\(three)\"; max-age=60"

    private func imported(_ text: String) throws -> ImportedPins {
        try ImportedPins(Array(text.utf8), as: .hpkp, host: try HostPattern("api.example.com"))
    }

    @Test(arguments: [([reporting, enforcing], 1), ([enforcing, reporting], 2)] as [([String], Int)])
    func `a header with pins that is enforced counts, before or after one that is only reported`(
        headers: [String], line: Int
    ) throws {
        let imported = try self.imported(headers.joined(separator: "\n"))
        #expect(imported.hosts.map(\.mode) == [.enforce])
        #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
        #expect(imported.findings.map(\.line) == [line] && !imported.findings.contains(where: \.isDefect))
        #expect(imported.findings.first?.message.contains("report-only") == true)
    }

    @Test func `a header with pins of each host is judged by itself`() throws {
        let imported = try self.imported("\(Self.reporting)\nHost: b.example.com\n\(Self.enforcing)")
        #expect(imported.hosts.map(\.mode) == [.reportOnly, .enforce])
        #expect(imported.findings.isEmpty)
    }

    @Test(arguments: ["pin-sha512", "pin-sha1", "PIN-SHA384"])
    func `a header with pins of other hashes keeps those of SHA-256`(name: String) throws {
        let imported = try self.imported("\(Self.enforcing); \(name)=\"abc\"; \(name)=\"def\"")
        #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
        #expect(imported.findings.map(\.isDefect) == [false])
    }

    @Test(arguments: ["\n  ", "\r\n\t"])
    func `a header with pins may go on in lines that begin with white space`(fold: String) throws {
        let imported = try self.imported(
            Self.enforcing.replacing("; ", with: ";\(fold)") + ";\(fold)report-uri=\"https://example.com/r\"\n")
        #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
        #expect(imported.findings.map(\.line) == [1] && !imported.findings.contains(where: \.isDefect))
    }

    @Test func `a header with pins may be indented, and follow a byte order mark`() throws {
        for text in ["  Host: a.example.com\n  \(Self.enforcing)", "\u{FEFF}\(Self.enforcing)"] {
            let imported = try self.imported(text)
            #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.one, Self.two]])
            #expect(imported.findings.isEmpty)
        }
    }

    @Test(arguments: ["a.example.com:443", "*.example.com", "-"])
    func `a header with pins below a host that is refused adds no finding`(host: String) throws {
        let imported = try self.imported("Host: \(host)\n\(Self.enforcing)\n\(Self.reporting)")
        #expect(imported.hosts.isEmpty && imported.findings.map(\.line) == [1], "\(imported.findings)")
        let next = try self.imported("Host: \(host)\nHost: b.example.com\n\(Self.enforcing)")
        #expect(next.hosts.map(\.pattern.text) == ["b.example.com"])
    }

    /// RFC 7469 sections 2.1 and 2.1.2: `1*DIGIT`, and clients ignore a header that is malformed.
    @Test(arguments: ["-1", "+5", "1.5", "\"\"", "\"5 \"", "5s", "0x10", "\u{661}"])
    func `a header with pins whose max-age is no number has a defect`(age: String) throws {
        let imported = try self.imported(Self.enforcing.replacing("5184000", with: age))
        #expect(imported.hosts.isEmpty && imported.findings.map(\.isDefect) == [true])
    }

    @Test func `a header with pins of any age but none is imported`() throws {
        for (age, count) in [("00", 0), ("0", 0), ("\"0\"", 0), ("007", 1), ("99999999999999999999999", 1)] {
            let imported = try self.imported(Self.enforcing.replacing("5184000", with: age))
            #expect(imported.hosts.count == count && !imported.findings.contains(where: \.isDefect))
        }
    }

    @Test func `a header with pins that is only reported has no use of its max-age`() throws {
        for age in ["0", "-1"] {
            let imported = try self.imported(Self.reporting.replacing("60", with: age))
            #expect(imported.hosts.map(\.mode) == [.reportOnly] && imported.findings.isEmpty)
        }
    }

    @Test(arguments: ["pin-sha256=\(one)", "Pin-SHA256 = \(one.dropLast())", "pin-sha1=abc"])
    func `a header with pins without quotation marks has a defect that names them`(directive: String) throws {
        let imported = try self.imported("\(Self.enforcing); \(directive)")
        #expect(imported.hosts.isEmpty && imported.findings.map(\.isDefect) == [true])
        #expect(imported.findings.first?.message.contains("quotation marks around the value of pin-sha") == true)
        #expect(imported.findings.first?.advice?.contains("=\"…\"") == true)
    }
}
