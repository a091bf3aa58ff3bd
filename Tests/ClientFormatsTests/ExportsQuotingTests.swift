import Testing

@testable import ClientFormats

@Suite struct `A text that is quoted` {
    @Test(
        arguments: [
            ("", ""), ("The shop – Größe 5", "The shop – Größe 5"), ("a\nb\r\u{85}\u{2028}\u{2029}", "a?b????"),
            ("\u{0}\u{1B}\u{7F}", "???"), ("a\u{202E}b\u{2066}\u{FEFF}\u{200B}", "a?b???"), ("\u{FFFE}\u{1FFFF}", "??"),
            ("\u{E000}", "?"), ("*/ --> \\ \" ' $", "*/ --> \\ \" ' $"),
        ] as [(String, String)])
    func `a quoted comment stays on its line and shows its text`(text: String, comment: String) {
        #expect(Quoting.comment(text) == comment)
    }

    @Test(
        arguments: [
            ("a-b", "a-b"), ("a--b", "a- -b"), ("a---", "a- - - "), ("-->", "- ->"), ("-", "- "), ("-\n-", "-?- "),
        ] as [(String, String)])
    func `a quoted XML comment has no two hyphens in a row, and none at its end`(text: String, comment: String) {
        #expect(Quoting.sparseComment(text) == comment)
    }

    @Test(
        arguments: [
            (#"<a b="c">&'"#, "&lt;a b=&quot;c&quot;&gt;&amp;&apos;"), ("\t\n\r", "&#9;&#10;&#13;"),
            ("\u{0}\u{1F}\u{FFFE}\u{FFFF}", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"), ("]]>", "]]&gt;"), ("é😀", "é😀"),
        ] as [(String, String)])
    func `a text quoted for XML is read back unchanged, as far as XML can express it`(text: String, quoted: String)
        throws
    {
        #expect(Quoting.xml(text) == quoted)
        let element = try XMLReader.read(Array("<a b=\"\(quoted)\">\(quoted)</a>".utf8))
        let expected =
            text.unicodeScalars.contains { $0 < " " && !"\t\n\r".unicodeScalars.contains($0) } ? quoted : text
        #expect(element.text == expected)
        #expect(element.attribute("b") == expected)
    }

    @Test(
        arguments: [
            ("a", #""a""#), (#"a"b\(c)"#, #""a\"b\\(c)""#), ("\n\u{0}", #""\u{A}\u{0}""#),
            ("é😀", #""\u{E9}\u{1F600}""#),
            ("$x", #""$x""#),
        ] as [(String, String)])
    func `a text quoted for Swift is one literal`(text: String, literal: String) {
        #expect(Quoting.swift(text) == literal)
    }

    @Test(
        arguments: [
            ("a", #""a""#), (#"a"b\n${c} $d"#, #""a\"b\\n\${c} \$d""#), ("\n\u{0}", #""\u000A\u0000""#),
            ("é😀", #""\u00E9\uD83D\uDE00""#),
        ] as [(String, String)])
    func `a text quoted for Kotlin is one literal without templates`(text: String, literal: String) {
        #expect(Quoting.kotlin(text) == literal)
    }

    @Test(
        arguments: [
            ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("$(id) `id` \\ \"", "'$(id) `id` \\ \"'"), ("a\nb", "'a\nb'"),
            ("a\u{0}b", "'ab'"), ("'", #"''\'''"#), ("", "''"),
        ] as [(String, String)])
    func `a text quoted for a shell is one word`(text: String, word: String) {
        #expect(Quoting.shell(text) == word)
    }
}
