import ClientFormats
import Testing

/// How each format comes as close as it can to what hosts ask for.
@Suite struct `The entries of an export` {
    struct Case: CustomTestStringConvertible {
        var format: ExportFormat
        var hosts: [String]
        /// What the file says, read back.
        var entries: [String]
        /// How the notes begin.
        var notes: [String] = []

        var testDescription: String { "\(self.format.rawValue): \(self.hosts.joined(separator: ", "))" }
    }

    private static let one = "An entry stands for one name, or for that and all names below it."

    static let nearest: [Case] = [
        Case(format: .androidNSC, hosts: ["a.example 1"], entries: ["a.example 1"]),
        // A name's two patterns make one entry, where they come to the same.
        Case(format: .androidNSC, hosts: ["a.example+ 1 2", "*.a.example 2 1"], entries: ["a.example+ 1 2"]),
        Case(format: .androidNSC, hosts: ["a.example 1", "*.a.example+ 1"], entries: ["a.example+ 1"]),
        Case(
            format: .androidNSC, hosts: ["a.example 1", "*.a.example 1"], entries: ["a.example 1"],
            notes: ["names one label below a.example: left out. \(Self.one)"]),
        Case(
            format: .androidNSC, hosts: ["*.a.example+ 1"], entries: [],
            notes: ["names below a.example: left out. \(Self.one)"]),
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "*.a.example 2"], entries: ["a.example 1"],
            notes: ["names below a.example: left out. \(Self.one)"]),
        // The nearer entry holds.
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "b.a.example 2"], entries: ["a.example+ 1", "b.a.example 2"]),
        // What has no entry of its own must not get another's pins; what is excepted with it is told.
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "*.b.a.example 2"],
            entries: ["a.example+ 1", "b.a.example+ off"],
            notes: [
                "b.a.example and names two or more labels below b.a.example: left out. Android network security "
                    + "configuration cannot except names one label below b.a.example alone from "
                    + "the entry of a.example.",
                "names one label below b.a.example: left out. \(Self.one)",
            ]),
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "*.b.a.example off"],
            entries: ["a.example+ 1", "b.a.example+ off"],
            notes: [
                "*.b.a.example: left out. Its mode is off.",
                "b.a.example and names two or more labels below b.a.example: left out. Android",
            ]),
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "*.b.a.example+ 2"],
            entries: ["a.example+ 1", "b.a.example+ off"],
            notes: ["b.a.example: left out. Android", "names below b.a.example: left out. \(Self.one)"]),
        // Both parts of the exception are asked for.
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "b.a.example off", "*.b.a.example+ off"],
            entries: ["a.example+ 1", "b.a.example+ off"],
            notes: ["*.b.a.example: left out. Its mode is off.", "b.a.example: left out. Its mode is off."]),
        // Below what is excepted, names with entries of their own keep them.
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "*.b.a.example off", "d.c.b.a.example 1", "e.a.example 2"],
            entries: ["a.example+ 1", "b.a.example+ off", "d.c.b.a.example 1", "e.a.example 2"],
            notes: ["*.b.a.example: left out. Its mode is off.", "b.a.example and names two or more labels below"]),
        // An exception or an entry between keeps the wider one off what is below.
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "b.a.example+ off", "*.c.b.a.example off"],
            entries: ["a.example+ 1", "b.a.example+ off"],
            notes: ["*.c.b.a.example: left out. Its mode is off.", "b.a.example: left out. Its mode is off."]),
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "b.a.example+ 2", "*.c.b.a.example off"],
            entries: ["a.example+ 1", "b.a.example+ 2", "c.b.a.example+ off"],
            notes: [
                "*.c.b.a.example: left out. Its mode is off.",
                "c.b.a.example and names two or more labels below c.b.a.example: left out. Android network security "
                    + "configuration cannot except names one label below c.b.a.example alone from "
                    + "the entry of b.a.example.",
            ]),
        // A name has one entry: that with its pins stays, and the wider one is narrowed.
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "b.a.example 3", "*.b.a.example 2"],
            entries: ["a.example 1", "b.a.example 3"],
            notes: [
                "names below a.example: left out. Android network security configuration cannot except names one label "
                    + "below b.a.example from its entry.", "names one label below b.a.example: left out. \(Self.one)",
            ]),
        Case(format: .androidNSC, hosts: ["a.example+ 1", "*.b.a.example 1"], entries: ["a.example+ 1"]),
        // Exceptions.
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "b.a.example+ off"],
            entries: ["a.example+ 1", "b.a.example+ off"], notes: ["b.a.example: left out. Its mode is off."]),
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "b.a.example+ off", "*.c.b.a.example 1"],
            entries: ["a.example+ 1", "b.a.example+ off"],
            notes: [
                "b.a.example: left out. Its mode is off.", "names one label below c.b.a.example: left out. \(Self.one)",
            ]),
        Case(
            format: .trustkitIOS, hosts: ["a.example+ 1 2", "b.a.example off"],
            entries: ["a.example+ 1 2", "b.a.example off"], notes: ["b.a.example: left out. Its mode is off."]),
        Case(
            format: .trustkitIOS, hosts: ["a.example+ 1 2", "b.a.example+ off"], entries: ["a.example 1 2"],
            notes: ["b.a.example: left out.", "names below a.example: left out. TrustKit for iOS cannot except"]),
        Case(
            format: .trustkitIOS, hosts: ["a.example+ 1 2", "b.a.example report_only 1"],
            entries: ["a.example+ 1 2", "b.a.example report_only 1"]),
        // No entry of TrustKit for iOS excepts names below one.
        Case(
            format: .trustkitIOS, hosts: ["a.example+ 1 2", "*.b.a.example off"], entries: ["a.example 1 2"],
            notes: ["*.b.a.example: left out.", "names below a.example: left out. TrustKit for iOS cannot except"]),
        Case(
            format: .trustkitAndroid, hosts: ["a.example+ 1 2", "*.b.a.example report_only 3"],
            entries: ["a.example+ 1 2", "b.a.example+ off"],
            notes: [
                "b.a.example and names two or more labels below b.a.example: left out. TrustKit for Android",
                "names one label below b.a.example: left out. \(Self.one)",
            ]),
        // Outside of what another stands for, nothing has to be excepted.
        Case(
            format: .androidNSC, hosts: ["a.example+ 1", "ba.example off", "example off"], entries: ["a.example+ 1"],
            notes: ["ba.example: left out.", "example: left out."]),
    ]

    @Test(arguments: Self.nearest)
    func `an export's entries say what hosts ask for, or less`(example: Case) throws {
        let export = try Export.render(example.format, of: try ExportsSample.view(example.hosts))
        let format: ImportFormat = example.format == .trustkitIOS ? .trustkitIOS : .androidNSC
        let imported = try ImportedPins(export.bytes, as: format)
        #expect(ExportsSample.words(imported) == example.entries)
        #expect(imported.findings.isEmpty)
        Self.compare(export.notes, example.notes)
    }

    static let summed: [Case] = [
        Case(format: .okhttp, hosts: ["a.example+ 1"], entries: ["a.example", "**.a.example"]),
        Case(format: .okhttp, hosts: ["*.a.example 1"], entries: ["*.a.example"]),
        // A wildcard with all names below and its name's own pattern make one, where they come to the same.
        Case(format: .okhttp, hosts: ["a.example 1", "*.a.example+ 1"], entries: ["a.example", "**.a.example"]),
        // Alone it does not: ** stands for the name as well.
        Case(
            format: .okhttp, hosts: ["*.a.example+ 1"], entries: ["*.a.example"],
            notes: ["names two or more labels below a.example: left out. A pattern stands for"]),
        Case(
            format: .okhttp3, hosts: ["*.a.example+ 1"], entries: ["*.a.example"],
            notes: ["names two or more labels below a.example: left out. A pattern stands for"]),
        Case(
            format: .okhttp3, hosts: ["a.example 1", "*.a.example+ 1"], entries: ["a.example", "*.a.example"],
            notes: ["names two or more labels below a.example: left out. A pattern stands for"]),
        Case(format: .okhttp3, hosts: ["*.a.example 1"], entries: ["*.a.example"]),
        Case(
            format: .okhttp, hosts: ["a.example 1", "*.a.example+ 2"], entries: ["a.example", "*.a.example"],
            notes: ["names two or more labels below a.example: left out. A pattern stands for"]),
        Case(
            format: .okhttp, hosts: ["a.example+ 1", "b.a.example 2"],
            entries: ["a.example", "**.a.example", "b.a.example"],
            notes: ["b.a.example passes with the pins of a.example too: OkHttp 4.3 and later adds up"]),
        Case(
            format: .okhttp, hosts: ["a.example+ 1", "c.b.a.example off"], entries: ["a.example", "*.a.example"],
            notes: [
                "c.b.a.example: left out.",
                "names two or more labels below a.example: left out. OkHttp 4.3 and later cannot except c.b.a.example",
            ]),
        Case(
            format: .okhttp3, hosts: ["a.example+ 1", "c.b.a.example off"], entries: ["a.example", "*.a.example"],
            notes: ["c.b.a.example: left out.", "names two or more labels below a.example: left out. A pattern"]),
        Case(
            format: .okhttp3, hosts: ["a.example+ 1", "b.a.example 2"],
            entries: ["a.example", "*.a.example", "b.a.example"],
            notes: [
                "b.a.example passes with the pins of a.example too: OkHttp 3 adds up",
                "names two or more labels below a.example: left out.",
            ]),
    ]

    @Test(arguments: Self.summed)
    func `an export's entries lock nobody out where all their pins count`(example: Case) throws {
        let export = try Export.render(example.format, of: try ExportsSample.view(example.hosts))
        let patterns = export.text.split(separator: "\n").filter {
            $0.hasPrefix("        \"") && !$0.contains("sha256/")
        }
        #expect(patterns.map { String($0.dropFirst(9).dropLast(2)) } == example.entries)
        Self.compare(export.notes, example.notes)
    }

    static let oneLabel: [Case] = [
        Case(
            format: .appleATS, hosts: ["a.example+ 1"], entries: ["*.a.example 1", "a.example 1"],
            notes: ["names two or more labels below a.example: left out."]),
        Case(format: .appleATS, hosts: ["a.example 1", "*.a.example 1"], entries: ["*.a.example 1", "a.example 1"]),
        Case(
            format: .appleATS, hosts: ["*.a.example 1"], entries: [],
            notes: ["names one label below a.example: left out."]),
        Case(
            format: .appleATS, hosts: ["a.example 1", "*.a.example 1", "b.a.example 2"],
            entries: ["*.a.example 1", "a.example 1", "b.a.example 2"],
            notes: [
                "b.a.example has an entry of its own and is reached by that of a.example: Apple does not say",
                "b.a.example: nobody showed a certificate of sha256/",
            ]),
        // Two labels below, no entry reaches what would have to be excepted.
        Case(
            format: .appleATS, hosts: ["a.example 1", "*.a.example 1", "c.b.a.example off"],
            entries: ["*.a.example 1", "a.example 1"], notes: ["c.b.a.example: left out."]),
        Case(
            format: .appleATS, hosts: ["a.example 1", "*.a.example 1", "b.a.example off"], entries: ["a.example 1"],
            notes: [
                "b.a.example: left out.",
                "names one label below a.example: left out. Apple App Transport Security cannot except b.a.example",
            ]),
    ]

    @Test(arguments: Self.oneLabel)
    func `an export's entries reach one label where nothing more is known`(example: Case) throws {
        let export = try Export.render(example.format, of: try ExportsSample.view(example.hosts))
        let imported = try ImportedPins(export.bytes, as: .appleATS)
        #expect(ExportsSample.words(imported) == example.entries)
        Self.compare(export.notes, example.notes)
    }

    @Test(
        arguments: [
            (["a.example+ 1", "b.a.example off"], true), (["*.a.example 1", "b.a.example off"], true),
            (["*.a.example 1", "c.b.a.example off"], false), (["*.a.example+ 1", "c.b.a.example off"], true),
            (["*.a.example 1", "a.example off"], false), (["a.example+ 1", "*.a.example off"], true),
            (["*.a.example 1", "a.example+ off"], true), (["a.example 1", "b.a.example off"], false),
            (["a.example 1", "*.example off"], false), (["a.example+ 1", "xa.example off"], false),
        ] as [([String], Bool)])
    func `an export of a file with patterns excepts hosts only from the patterns that cover them`(
        hosts: [String], isThere: Bool
    )
        throws
    {
        let export = try Export.render(.json, of: try ExportsSample.view(hosts))
        #expect(export.text.contains(#""mode": "off""#) == isThere)
        #expect(export.notes.count == (isThere ? 2 : 1))
    }

    private static func compare(
        _ notes: [String], _ beginnings: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(notes.count == beginnings.count, "\(notes)", sourceLocation: sourceLocation)
        for (note, beginning) in zip(notes, beginnings) {
            #expect(note.hasPrefix(beginning), sourceLocation: sourceLocation)
        }
    }
}
