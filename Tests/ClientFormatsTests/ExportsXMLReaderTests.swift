import ClientFormats
import Testing

@Suite struct `The XML reader` {
    struct Refused: CustomTestStringConvertible, Sendable {
        var text: String
        var line: Int
        var column: Int
        /// How the message begins.
        var message: String

        init(_ text: String, _ line: Int, _ column: Int, _ message: String) {
            self.text = text
            self.line = line
            self.column = column
            self.message = message
        }

        var testDescription: String { String(self.text.prefix(60)) }
    }

    private static let plist =
        #"PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd""#

    static let syntax: [Refused] = [
        Refused("", 1, 1, "an element should begin here"),
        Refused("x<a/>", 1, 1, "an element should begin here"),
        Refused("<a", 1, 3, "a space or the tag's end should be here"),
        Refused("<a>", 1, 1, "the element a does not end"),
        Refused("<a></b>", 1, 4, "the end of a, which began in line 1, should be here"),
        Refused("<a></a", 1, 7, "the end tag should end here"),
        Refused("<a/><b/>", 1, 5, "there is more after the end of the root element"),
        Refused("<a/>x", 1, 5, "there is more after the end of the root element"),
        Refused("< a/>", 1, 2, "a name should be here"),
        Refused("<1/>", 1, 2, "a name should be here"),
        Refused("\n\n  <é/>", 3, 4, "a name should be here"),
        Refused("<a b/>", 1, 5, "an equals sign should be here"),
        Refused("<a b=c/>", 1, 6, "a value in quotation marks should be here"),
        Refused("<a b='1'c='2'/>", 1, 9, "a space or the tag's end should be here"),
        Refused("<a b='1' b='2'/>", 1, 10, "the attribute b is there already"),
        Refused("<a b='1", 1, 7, "the attribute's value does not end"),
        Refused("<a b='<'/>", 1, 7, "the character < must be written &lt; here"),
        Refused("<a>]]></a>", 1, 4, "the characters ]]> must not stand in text"),
        Refused("<a>\u{1}</a>", 1, 4, "this character must not stand in XML"),
        Refused("<a>é\u{FFFF}</a>", 1, 5, "this character must not stand in XML"),
        Refused("<a/>\u{0}", 1, 5, "this character must not stand in XML"),
        Refused("<a><!-- a -- b --></a>", 1, 11, "a comment must not have two hyphens in a row"),
        Refused("<a><!-- a", 1, 4, "the comment does not end"),
        Refused("<a><![CDATA[x]] ></a>", 1, 4, "the CDATA section does not end"),
        Refused("<a><![cdata[x]]></a>", 1, 4, "declarations are not read"),
        Refused("<a><![CDATA[e\(String(repeating: "\u{301}", count: 31))]]></a>", 1, 4, "there are more than"),
        Refused("<a>\r\n<b>\r</a>", 3, 1, "the end of b, which began in line 2, should be here"),
        Refused(#"<?xml version="1.1"?><a/>"#, 1, 7, "only XML 1.0 is read"),
        Refused(#"<?xml version="1.0" encoding="UTF-16"?><a/>"#, 1, 21, "only UTF-8 is read"),
        Refused(#"<?xml version="1.0" x="1"?><a/>"#, 1, 21, "the XML declaration has no x"),
        Refused(#" <?xml version="1.0"?><a/>"#, 1, 2, "processing instructions are not read"),
    ]

    static let refused: [Refused] = [
        Refused("<!DOCTYPE a><a/>", 1, 1, "document types are not read"),
        Refused("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", 1, 1, "document types are not read"),
        Refused(#"<!DOCTYPE plist SYSTEM "file:///etc/passwd"><plist/>"#, 1, 1, "document types are not read"),
        Refused("<!DOCTYPE plist \(plist) [<!ENTITY x 'y'>]><plist/>", 1, 1, "document types are not read"),
        Refused("<!DOCTYPE html \(plist)><plist/>", 1, 1, "document types are not read"),
        Refused("<!DOCTYPE plist \(plist)>\n<!DOCTYPE plist \(plist)><plist/>", 2, 1, "document types are not read"),
        Refused("<plist/><!DOCTYPE plist \(plist)>", 1, 9, "document types are not read"),
        Refused("<a><!ELEMENT b></a>", 1, 4, "declarations are not read"),
        Refused("<![CDATA[x]]><a/>", 1, 2, "a name should be here"),
        Refused("<a/><![CDATA[x]]>", 1, 5, "there is more after the end of the root element"),
        Refused("<?php x?><a/>", 1, 1, "processing instructions are not read"),
        Refused("<a><?x y?></a>", 1, 4, "processing instructions are not read"),
        Refused("<a>&x;</a>", 1, 4, "the entity x is not read"),
        Refused("<a>&AMP;</a>", 1, 4, "the entity AMP is not read"),
        Refused("<a>&amp</a>", 1, 4, "an entity does not end"),
        Refused("<a>a & b</a>", 1, 6, "an entity does not end"),
        Refused("<a b='&x;'/>", 1, 7, "the entity x is not read"),
        Refused("bplist00\u{1}", 1, 1, "this is a binary property list"),
        Refused(String(repeating: "<a>", count: 17), 1, 49, "elements are more than 16 deep"),
        Refused("<a>" + String(repeating: " ", count: 1 << 20), 1, 1, "the text has more than 1048576 bytes"),
    ]

    @Test(arguments: Self.syntax + Self.refused)
    func `the XML reader refuses bad XML and whatever a configuration does not need, and says where`(example: Refused) {
        #expect(
            performing: { try XMLReader.read(Array(example.text.utf8)) },
            throws: { error in
                guard let defect = error as? TextDefect else { return false }
                return defect.line == example.line && defect.column == example.column
                    && defect.message.hasPrefix(example.message)
            })
    }

    @Test(arguments: [
        "#0", "#8", "#x1F", "#xD800", "#xDFFF", "#x110000", "#xFFFE", "#xFFFF", "#", "#x", "#-1", "#+5", "#5 ", "#a",
        "#xg",
        "#X41",
    ])
    func `the XML reader refuses a reference to an invalid character`(reference: String) {
        #expect(
            performing: { try XMLReader.read(Array("<a>&\(reference);</a>".utf8)) },
            throws: { ($0 as? TextDefect)?.message == "there is no character with this number in XML" })
    }

    @Test func `the XML reader refuses bytes that are not UTF-8`() {
        #expect(
            performing: { try XMLReader.read([0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E]) },
            throws: { ($0 as? TextDefect)?.message == "the text is not UTF-8" })
    }

    @Test func `the XML reader takes elements, attributes, text, comments and the predefined entities`() throws {
        let text =
            "\u{FEFF}<?xml version='1.0' encoding=\"utf-8\" standalone = 'yes' ?>\n<!-- x -->\r\n"
            + "<t:r a = '1&#10;2\n3' xmlns:t=\"u'\" >x &lt;&#x41;&quot;&gt;&amp;&apos;&#128512;\r\ny\r"
            + "<b/><!-- - -->z</t:r >\n"
            + "<!-- y -->\n"
        let root = try XMLReader.read(Array(text.utf8))
        #expect(root.name == "t:r" && root.line == 3 && root.column == 1)
        #expect(root.attribute("a") == "1\n2 3" && root.attribute("xmlns:t") == "u'" && root.attribute("b") == nil)
        #expect(root.text == "x <A\">&'😀\ny\nz")
        #expect(root.children.map(\.name) == ["b"])
        #expect(root.children.first?.line == 6 && root.children.first?.column == 1)
    }

    @Test func `the XML reader takes a CDATA section as it stands`() throws {
        let root = try XMLReader.read(
            Array("<a>x<![CDATA[ <b>&amp;]]]>y<![CDATA[]]>\r\n<![CDATA[\r1\r\n2]]><c/></a>".utf8))
        #expect(root.text == "x <b>&amp;]y\n\n1\n2")
        #expect(root.children.map(\.name) == ["c"] && root.children.map(\.line) == [4])
    }

    @Test func `the XML reader ignores the document type of property lists`() throws {
        let text = "<!DOCTYPE plist \(Self.plist) >\n<plist version=\"1.0\"><true/></plist>"
        #expect(try XMLReader.read(Array(text.utf8)).propertyList().boolean())
        let older = text.replacing("Apple//", with: "Apple Computer//").replacing("http:", with: "https:")
        #expect(try XMLReader.read(Array(older.utf8)).propertyList().boolean())
    }

    @Test func `the XML reader accepts nesting up to its stated depth`() throws {
        let text = String(repeating: "<a>", count: 16) + String(repeating: "</a>", count: 16)
        #expect(try XMLReader.read(Array(text.utf8)).children.count == 1)
    }

    @Test(
        arguments: [
            ("<dict><key>a</key></dict>", "each key of a dict needs one value"),
            ("<dict><key>a</key><key>b</key></dict>", "this key has no value"),
            ("<dict><true/><key>b</key></dict>", "a key should be here"),
            ("<dict><key>a</key><true/><key>a</key><true/></dict>", "this key is there already"),
            ("<dict>x<key>a</key><true/></dict>", "each key of a dict needs one value"),
            ("<array/>", "a dict should be here, and array is"),
        ])
    func `the property list reader refuses a malformed dictionary`(text: String, message: String) throws {
        let value = try XMLReader.read(Array("<plist>\(text)</plist>".utf8)).propertyList()
        #expect(performing: { try value.members() }, throws: { ($0 as? TextDefect)?.message == message })
    }

    @Test(
        arguments: [
            ("<true/>", true), ("<false/>", false), ("<string>YES</string>", true), ("<string>NO</string>", false),
            ("<integer>1</integer>", true), ("<integer>0</integer>", false), ("<string>maybe</string>", nil),
            ("<array/>", nil), ("<integer>2</integer>", nil),
        ] as [(String, Bool?)])
    func `the property list reader takes a boolean in each of its spellings`(text: String, value: Bool?) throws {
        let element = try XMLReader.read(Array(text.utf8))
        if let value {
            #expect(try element.boolean() == value)
        } else {
            #expect(throws: TextDefect.self) { try element.boolean() }
        }
    }
}
