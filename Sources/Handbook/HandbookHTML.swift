/// The handbook as HTML documents: plain text with a list of the pages, without scripts and without other resources.
package enum HandbookHTML {
    /// The text of the only `<style>` element, for a Content-Security-Policy that allows it by its hash.
    package static let style = """
        body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:56rem;margin:0 auto;padding:0 1rem 4rem}
        nav{font-size:.875rem;border-bottom:1px solid #ccc;padding:.75rem 0}
        nav a{margin-right:.75rem;white-space:nowrap}
        pre{background:#f5f5f5;padding:.75rem;overflow-x:auto}
        code{font:.875em/1.4 ui-monospace,monospace}
        table{border-collapse:collapse;display:block;overflow-x:auto}
        th,td{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}
        a{color:#0645ad}
        a.anchor{color:#aaa;text-decoration:none}
        @media (prefers-color-scheme:dark){body{color:#ddd;background:#1a1a1a}pre{background:#2a2a2a}a{color:#8ab4f8}}
        """

    /// A page of the handbook.
    package static func document(_ page: HandbookPage) -> String {
        Self.document(title: page.title, body: PageRenderer.html(page.markdown))
    }

    /// The list of all pages.
    package static let index: String = {
        let items = Handbook.pages.map { page in
            "<li><a href=\"/handbook/\(page.name)\">\(Self.escaped(page.title))</a></li>\n"
        }
        return Self.document(title: "Handbook", body: "<h1>Handbook</h1>\n<ul>\n\(items.joined())</ul>\n")
    }()

    private static func document(title: String, body: String) -> String {
        let links = Handbook.pages.map { "<a href=\"/handbook/\($0.name)\">\(Self.escaped($0.title))</a>\n" }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(Self.escaped(title)) · Pinledger</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <nav><a href="/handbook">Handbook</a>
            \(links.joined())</nav>
            <main>
            \(body)</main>
            </body>
            </html>

            """
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
