import PinWire

/// Reads the part of XML in which configurations of apps are written.
///
/// A part of XML 1.0: UTF-8, elements and attributes with ASCII names, comments, the five predefined entities, character
/// references and CDATA sections. It refuses document types (except the one that every property list names, which it
/// ignores and never fetches), entities of any other name and processing instructions; texts of more than ``sizeLimit``
/// bytes, elements more than ``depthLimit`` deep and those of more than ``attributeLimit`` attributes.
/// Names with a colon are taken unchanged.
package struct XMLReader {
    /// 1 MiB.
    package static let sizeLimit = 1 << 20
    package static let depthLimit = 16
    package static let attributeLimit = 64

    let bytes: [UInt8]
    var place = 0
    var line = 1
    var column = 1

    /// The root element of a text.
    package static func read(_ bytes: [UInt8]) throws(TextDefect) -> XMLElement {
        guard bytes.count <= Self.sizeLimit else {
            throw TextDefect(line: 1, column: 1, "the text has more than \(Self.sizeLimit) bytes")
        }
        guard !bytes.starts(with: Array("bplist".utf8)) else {
            throw TextDefect(
                line: 1, column: 1, "this is a binary property list; plutil -convert xml1 makes a text of it")
        }
        var reader = XMLReader(bytes)
        return try reader.document()
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    // MARK: The document

    private mutating func document() throws(TextDefect) -> XMLElement {
        guard String(validating: self.bytes, as: UTF8.self) != nil else { throw self.defect("the text is not UTF-8") }
        // A byte order mark has no column.
        if self.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { self.place = 3 }
        try self.checkCharacters()
        try self.declaration()
        try self.misc(allowsDoctype: true)
        guard self.isAt("<") else { throw self.defect("an element should begin here") }
        let root = try self.element(depth: 1)
        try self.misc(allowsDoctype: false)
        guard self.place == self.bytes.count else {
            throw self.defect("there is more after the end of the root element")
        }
        return root
    }

    /// Refuses characters that XML 1.0 (section 2.2) does not have.
    private func checkCharacters() throws(TextDefect) {
        var copy = self
        while let byte = copy.peek {
            let isNoncharacter =
                byte == 0xEF && (copy.isAt([0xEF, 0xBF, 0xBE]) || copy.isAt([0xEF, 0xBF, 0xBF]))
            guard byte >= 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D, !isNoncharacter else {
                throw copy.defect("this character must not stand in XML")
            }
            copy.advance()
        }
    }

    private mutating func declaration() throws(TextDefect) {
        guard self.isAt("<?xml"), self.place + 5 < self.bytes.count, Self.isSpace(self.bytes[self.place + 5]) else {
            return
        }
        self.advance(5)
        while true {
            let hasSpace = self.skipSpace()
            if self.isAt("?>") { break }
            guard hasSpace else { throw self.defect("a space or the declaration's end should be here") }
            let place = self
            let attribute = try self.attribute()
            switch attribute.name {
            case "version":
                guard attribute.value == "1.0" else { throw place.defect("only XML 1.0 is read") }
            case "encoding":
                guard attribute.value.lowercased() == "utf-8" else { throw place.defect("only UTF-8 is read") }
            case "standalone": break
            default: throw place.defect("the XML declaration has no \(attribute.name)")
            }
        }
        self.advance(2)
    }

    /// Skips white space and comments, and once the document type of property lists.
    private mutating func misc(allowsDoctype: Bool) throws(TextDefect) {
        var allowsDoctype = allowsDoctype
        while true {
            self.skipSpace()
            if self.isAt("<!--") {
                try self.comment()
            } else if self.isAt("<!DOCTYPE") {
                guard allowsDoctype, self.skipPropertyListDoctype() else {
                    throw self.defect("document types are not read, but for that of property lists")
                }
                allowsDoctype = false
            } else if self.isAt("<?") {
                throw self.defect("processing instructions are not read")
            } else {
                return
            }
        }
    }

    /// False, without skipping, for any other document type.
    private mutating func skipPropertyListDoctype() -> Bool {
        var copy = self
        copy.advance(9)
        for words in [
            ["plist"], ["PUBLIC"],
            [#""-//Apple//DTD PLIST 1.0//EN""#, #""-//Apple Computer//DTD PLIST 1.0//EN""#],
            [
                #""http://www.apple.com/DTDs/PropertyList-1.0.dtd""#,
                #""https://www.apple.com/DTDs/PropertyList-1.0.dtd""#,
            ],
        ] {
            guard let next = copy.peek, Self.isSpace(next) else { return false }
            copy.skipSpace()
            guard let word = words.first(where: { copy.isAt($0) }) else { return false }
            copy.advance(word.utf8.count)
        }
        copy.skipSpace()
        guard copy.isAt(">") else { return false }
        copy.advance()
        self = copy
        return true
    }

    private mutating func comment() throws(TextDefect) {
        let start = self
        self.advance(4)
        while !self.isAt("--") {
            guard self.peek != nil else { throw start.defect("the comment does not end") }
            self.advance()
        }
        guard self.isAt("-->") else { throw self.defect("a comment must not have two hyphens in a row") }
        self.advance(3)
    }

    // MARK: Elements

    private mutating func element(depth: Int) throws(TextDefect) -> XMLElement {
        let start = self
        guard depth <= Self.depthLimit else { throw self.defect("elements are more than \(Self.depthLimit) deep") }
        self.advance()
        let name = try self.name()
        var element = XMLElement(
            name: name, attributes: [], children: [], text: "", line: start.line, column: start.column)
        while true {
            let hasSpace = self.skipSpace()
            if self.isAt("/>") {
                self.advance(2)
                return element
            }
            if self.isAt(">") { break }
            guard hasSpace else { throw self.defect("a space or the tag's end should be here") }
            let place = self
            let attribute = try self.attribute()
            guard element.attribute(attribute.name) == nil else {
                throw place.defect("the attribute \(attribute.name) is there already")
            }
            guard element.attributes.count < Self.attributeLimit else {
                throw place.defect("an element may have at most \(Self.attributeLimit) attributes")
            }
            element.attributes.append(attribute)
        }
        self.advance()
        try self.content(of: &element, depth: depth)
        return element
    }

    /// Reads up to and with the end tag.
    private mutating func content(of element: inout XMLElement, depth: Int) throws(TextDefect) {
        while true {
            guard self.peek != nil else { throw element.defect("the element \(element.name) does not end") }
            if self.isAt("</") {
                let place = self
                self.advance(2)
                guard try self.name() == element.name else {
                    throw place.defect(
                        "the end of \(element.name), which began in line \(element.line), should be here")
                }
                self.skipSpace()
                guard self.isAt(">") else { throw self.defect("the end tag should end here") }
                self.advance()
                // Each of its pieces keeps the limit, and comments between them may join several rows of marks.
                guard StreamSafeText.accepts(element.text.utf8) else { throw element.defect(Self.tooManyMarks) }
                return
            } else if self.isAt("<!--") {
                try self.comment()
            } else if self.isAt("<![CDATA[") {
                element.text += try self.dataSection()
            } else if self.isAt("<!") {
                throw self.defect("declarations are not read")
            } else if self.isAt("<?") {
                throw self.defect("processing instructions are not read")
            } else if self.isAt("<") {
                element.children.append(try self.element(depth: depth + 1))
            } else {
                element.text += try self.text { $0 == UInt8(ascii: "<") }
            }
        }
    }

    private mutating func attribute() throws(TextDefect) -> XMLElement.Attribute {
        let name = try self.name()
        self.skipSpace()
        guard self.isAt("=") else { throw self.defect("an equals sign should be here") }
        self.advance()
        self.skipSpace()
        guard let quote = self.peek, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw self.defect("a value in quotation marks should be here")
        }
        self.advance()
        let value = try self.text(inAttribute: true) { $0 == quote }
        self.advance()
        return XMLElement.Attribute(name: name, value: value)
    }
}
