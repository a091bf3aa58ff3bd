import Testing

@testable import Handbook

/// How a page's Markdown becomes HTML.
@Suite struct `The handbook as HTML` {
    private func html(_ markdown: String) -> String { PageRenderer.html(Array(markdown.utf8)) }

    @Test func `the handbook as HTML has an anchor at each heading, and another one where a heading repeats`() {
        let html = self.html("# A `b` & c\n\n## Plans\n\n## Plans\n")
        #expect(html.contains("<h1><a class=\"anchor\" id=\"a-b--c\" href=\"#a-b--c\">#</a> A <code>b</code> &amp; c"))
        #expect(html.contains(" id=\"plans\" ") && html.contains(" id=\"plans-1\" "))
    }

    @Test func `the handbook as HTML has no HTML of the page itself, and no link that runs code`() {
        let html = self.html("<script>alert(1)</script>\n\na <b onclick=x>b</b> [c](javascript:alert(1))\n")
        #expect(!html.contains("<script") && !html.contains("onclick") && !html.contains("javascript:"))
        #expect(self.html("`<script>`").contains("<code>&lt;script&gt;</code>"))
    }

    @Test func `the handbook as HTML has tables`() {
        #expect(self.html("| a | b |\n|---|---|\n| `x|y` | z |\n").contains("<table>"))
    }

    static let links: [(target: String, address: String?)] = [
        ("rollouts.md", "/handbook/rollouts"), ("rollouts.md#plans", "/handbook/rollouts#plans"), ("#plans", "#plans"),
        ("../../../openapi/openapi.yaml", "/openapi.yaml"), ("https://example.com/a.md", "https://example.com/a.md"),
        ("../../../CONTRIBUTING.md", nil), ("../../../db", nil), ("javascript:alert(1)", nil),
        ("http://example.com", nil),
    ]

    @Test(arguments: links) func `the handbook as HTML links to what the server has`(target: String, address: String?) {
        #expect(PageRenderer.address(target) == address)
    }

    @Test func `the handbook as HTML names a file that the server does not have without a link`() {
        #expect(self.html("See [the *guide*](../../../CONTRIBUTING.md).") == "<p>See the <em>guide</em>.</p>\n")
        #expect(self.html("See [plans](rollouts.md#plans).").contains("<a href=\"/handbook/rollouts#plans\">plans</a>"))
    }

    @Test func `the handbook as HTML survives input of every kind`() {
        #expect(self.html("") == "")
        for depth in [1, 100, 10_000] {
            #expect(!self.html(String(repeating: "> ", count: depth) + "a").isEmpty)
            #expect(!self.html(String(repeating: "[", count: depth) + "a").isEmpty)
        }
        #expect(!PageRenderer.html([0xff, 0x00, 0x23, 0x20, 0xfe]).isEmpty)
    }
}
