/// A page of the handbook.
package struct HandbookPage: Sendable {
    /// Its name in addresses and commands, such as `kill-switch`.
    package let name: String
    /// The text of its first heading.
    package let title: String
    /// The page as it was written.
    package let markdown: [UInt8]

    init(name: String, markdown: [UInt8]) {
        self.name = name
        self.markdown = markdown
        let heading = String(decoding: markdown.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        self.title = heading.hasPrefix("# ") ? String(heading.dropFirst(2)) : name
    }
}
