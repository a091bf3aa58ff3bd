import ClientFormats
import PinWire
import Pinning
import Testing

/// Authorities' keys beside servers' own, where a reader does not look at the whole chain. Of the sample's keys 1 and 4
/// are servers', 3 is an authority's, and of 2 nobody showed a certificate.
@Suite struct `An export for readers that tell keys of servers from those of authorities` {
    struct Case: CustomTestStringConvertible {
        /// The host's pins: a primary one, a backup and one for emergencies.
        var pins: String
        /// The first byte of each pin in the file.
        var kept: [UInt8]
        /// How the notes begin.
        var notes: [String] = []

        var testDescription: String { self.pins }
    }

    private static func pin(_ byte: UInt8) -> String {
        "sha256/\(Base64.encode(Array(repeating: byte, count: 32)))"
    }

    private static func unknown(_ byte: UInt8) -> String {
        "a.example: nobody showed a certificate of \(Self.pin(byte)), and the key is taken for the server's own."
    }

    static let leaves: [Case] = [
        Case(pins: "1 4", kept: [1, 4]),
        Case(pins: "1 3", kept: [1], notes: ["a.example: \(Self.pin(3)) left out. With keys of authorities"]),
        Case(pins: "1 2", kept: [1, 2]),
        Case(pins: "2 4", kept: [2, 4], notes: [Self.unknown(2)]),
        Case(
            pins: "2 3", kept: [2],
            notes: ["a.example: \(Self.pin(3)) left out. With keys of authorities", Self.unknown(2)]),
    ]

    static let authorities: [Case] = [
        Case(pins: "3", kept: [3]),
        // The primary pin's servers would be refused with the others alone.
        Case(pins: "3 1", kept: [3], notes: ["a.example: \(Self.pin(1)) left out. With keys of authorities"]),
        Case(pins: "3 2", kept: [3], notes: ["a.example: \(Self.pin(2)) left out. With keys of authorities"]),
        Case(
            pins: "3 1 4", kept: [3],
            notes: ["a.example: \(Self.pin(1)) and \(Self.pin(4)) left out. With keys of authorities"]),
    ]

    @Test(arguments: Self.leaves)
    func `an export keeps servers' keys for App Transport Security where one of them is the primary`(example: Case)
        throws
    {
        try Self.check(
            try Self.export(.appleATS, example.pins), "NSPinnedLeafIdentities", "NSPinnedCAIdentities", example)
    }

    @Test(arguments: Self.authorities)
    func `an export keeps authorities' keys for App Transport Security where one of them is the primary`(example: Case)
        throws
    {
        try Self.check(
            try Self.export(.appleATS, example.pins), "NSPinnedCAIdentities", "NSPinnedLeafIdentities", example)
    }

    @Test(arguments: [([2, 3], 3), ([1, 3], 1), ([1, 2], 1)] as [([UInt8], UInt8)])
    func `an export follows the known primary where there are several`(primaries: [UInt8], kept: UInt8) throws {
        var host = try ExportsSample.host("a.example 1")
        host.baseline?.pins = try primaries.map { Document.RolePin(pin: try ExportsSample.pin($0), role: .primary) }
        let text = try Export.render(.appleATS, of: try ExportsSample.view([host])).text
        #expect(text.contains(try ExportsSample.pin(kept).base64))
        #expect(text.contains("NSPinnedCAIdentities") == (kept == 3))
        #expect(text.contains("NSPinnedLeafIdentities") == (kept != 3))
    }

    @Test(
        arguments: [
            Case(pins: "1 3", kept: [1], notes: ["a.example: \(Self.pin(3)) left out. It is an authority's, and curl"]),
            Case(pins: "2 4", kept: [2, 4]),
            Case(
                pins: "3 1", kept: [],
                notes: [
                    "a.example: \(Self.pin(3)) left out.", "a.example: left out. Its servers have yet to get the keys",
                ]),
            Case(
                pins: "3", kept: [],
                notes: ["a.example: \(Self.pin(3)) left out.", "a.example: left out. None of its pins"]),
        ])
    func `an export locks out no client of curl`(example: Case) throws {
        let export = try Self.export(.curl, example.pins)
        for byte: UInt8 in 1...4 {
            #expect(export.text.contains(try ExportsSample.pin(byte).base64) == example.kept.contains(byte))
        }
        #expect(export.text.contains("--pinnedpubkey") == !example.kept.isEmpty)
        Self.compare(export.notes, example.notes)
    }

    @Test(
        arguments: [
            Case(pins: "1 4", kept: [0xA1, 0xA4, 0xB4]),
            Case(pins: "1 3", kept: [0xA1], notes: ["a.example: \(Self.pin(3)) left out. It is an authority's"]),
            Case(
                pins: "2 4", kept: [],
                notes: [
                    "a.example: \(Self.pin(2)) left out. Nobody showed a certificate",
                    "a.example: left out. Its servers have yet to get the keys",
                ]),
            Case(
                pins: "3 1", kept: [],
                notes: [
                    "a.example: \(Self.pin(3)) left out.", "a.example: left out. Its servers have yet to get the keys",
                ]),
            Case(
                pins: "2", kept: [],
                notes: ["a.example: \(Self.pin(2)) left out.", "a.example: left out. None of its pins"]),
        ])
    func `an export locks out no client that compares whole certificates`(example: Case) throws {
        let export = try Self.export(.flutter, example.pins)
        let wanted = example.kept.map { JSON.string(Hex.encode(Array(repeating: $0, count: 32))) }
        let told = try JSON(text: export.text)
        #expect(told == (wanted.isEmpty ? [:] : ["a.example": .array(wanted)]))
        Self.compare(export.notes, example.notes)
    }

    /// As `openssl req -x509` makes them: a certificate that says it may sign, and has the host for its common name.
    @Test func `an export takes a self-signed server certificate for the server's own`() throws {
        let own = WultraExamples.certificate(1, "api.example.com", isAuthority: true, isSelfSigned: true)
        let app = WultraExamples.app(
            .init("api.example.com", .enforce, own, WultraExamples.certificate(2, "Root", isAuthority: true)))
        let view = WultraExamples.view(app)
        let text = try Export.render(.appleATS, of: view).text
        #expect(text.contains("NSPinnedLeafIdentities") && !text.contains("NSPinnedCAIdentities"))
        #expect(text.contains(own.key.pin.base64) && !text.contains(WultraExamples.pin(2).base64))
        #expect(try Export.render(.flutter, of: view).text.contains(Hex.encode(own.sha256)))
        #expect(try Export.render(.curl, of: view).text.contains(own.key.pin.base64))
    }

    private static func export(_ format: ExportFormat, _ pins: String) throws -> Export {
        try Export.render(format, of: try ExportsSample.view(["a.example \(pins)"]))
    }

    private static func check(_ export: Export, _ list: String, _ other: String, _ example: Case) throws {
        #expect(export.text.contains(list) && !export.text.contains(other))
        let imported = try ImportedPins(export.bytes, as: .appleATS)
        #expect(imported.hosts.map { $0.pins.map { $0.bytes[0] } } == [example.kept])
        Self.compare(export.notes, example.notes)
    }

    private static func compare(
        _ notes: [String], _ beginnings: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(notes.count == beginnings.count, "\(notes)", sourceLocation: sourceLocation)
        for (note, beginning) in zip(notes, beginnings) {
            #expect(note.hasPrefix(beginning), "\(note)", sourceLocation: sourceLocation)
        }
    }
}
