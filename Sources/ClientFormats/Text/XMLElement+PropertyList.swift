extension XMLElement {
    /// The value of a property list: the one child of `plist`.
    package func propertyList() throws(TextDefect) -> XMLElement {
        guard self.name == "plist" else { throw self.defect("the root element should be plist, and is \(self.name)") }
        guard let value = self.children.first, self.children.count == 1, self.trimmedText.isEmpty else {
            throw self.defect("a property list has exactly one value")
        }
        return value
    }

    /// The members of a dictionary, in their order.
    package func members() throws(TextDefect) -> [(key: String, value: XMLElement)] {
        guard self.name == "dict" else { throw self.defect("a dict should be here, and \(self.name) is") }
        guard self.children.count.isMultiple(of: 2), self.trimmedText.isEmpty else {
            throw self.defect("each key of a dict needs one value")
        }
        var members: [(key: String, value: XMLElement)] = []
        var seen: Set<String> = []
        for place in stride(from: 0, to: self.children.count, by: 2) {
            let key = self.children[place]
            guard key.name == "key", key.children.isEmpty else { throw key.defect("a key should be here") }
            guard self.children[place + 1].name != "key" else { throw key.defect("this key has no value") }
            guard seen.insert(key.text).inserted else { throw key.defect("this key is there already") }
            members.append((key.text, self.children[place + 1]))
        }
        return members
    }

    /// The member `key` of a dictionary; nil where it has none.
    package func member(_ key: String) throws(TextDefect) -> XMLElement? {
        try self.members().first { $0.key == key }?.value
    }

    /// The elements of an array.
    package func elements() throws(TextDefect) -> [XMLElement] {
        guard self.name == "array", self.trimmedText.isEmpty else {
            throw self.defect("an array should be here, and \(self.name) is")
        }
        return self.children
    }

    /// The text of a string.
    package func string() throws(TextDefect) -> String {
        guard self.name == "string", self.children.isEmpty else {
            throw self.defect("a string should be here, and \(self.name) is")
        }
        return self.text
    }

    /// A boolean: Info.plist files write it as `true` and `false`, as `YES` and `NO`, or as a number too, all of which
    /// `boolValue` takes.
    package func boolean() throws(TextDefect) -> Bool {
        switch (self.name, self.trimmedText.lowercased()) {
        case ("true", ""): return true
        case ("false", ""): return false
        case ("string", "yes"), ("string", "true"), ("string", "1"), ("integer", "1"): return true
        case ("string", "no"), ("string", "false"), ("string", "0"), ("integer", "0"): return false
        default: throw self.defect("true or false should be here, and \(self.name) is")
        }
    }
}
