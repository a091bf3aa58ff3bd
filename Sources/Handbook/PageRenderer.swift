internal import CMarkdown
import Foundation

/// Makes HTML from the handbook's Markdown: GitHub's dialect with tables, and an anchor at each heading.
///
/// Raw HTML in a page is left out. Links to other pages (`rollouts.md#plans`) become addresses below `/handbook`, and the
/// one to the contract becomes `/openapi.yaml`; links to other files of the repository become plain text, because the
/// server does not have those files.
enum PageRenderer {
    /// A page as the body of an HTML document; empty only if memory runs out.
    static func html(_ markdown: [UInt8]) -> String {
        _ = Self.registerExtensions
        // The default options leave out raw HTML and dangerous links.
        guard let parser = unsafe cmark_parser_new(CMARK_OPT_DEFAULT) else { return "" }
        defer { unsafe cmark_parser_free(parser) }
        if let tables = unsafe cmark_find_syntax_extension("table") {
            unsafe cmark_parser_attach_syntax_extension(parser, tables)
        }
        unsafe markdown.withUnsafeBytes { bytes in
            unsafe cmark_parser_feed(parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard let root = unsafe cmark_parser_finish(parser) else { return "" }
        defer { unsafe cmark_node_free(root) }
        unsafe Self.addAnchors(to: Self.nodes(of: [CMARK_NODE_HEADING], below: root))
        unsafe Self.resolve(Self.nodes(of: [CMARK_NODE_LINK], below: root))
        guard
            let text = unsafe cmark_render_html(
                root, CMARK_OPT_DEFAULT, cmark_parser_get_syntax_extensions(parser))
        else { return "" }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }

    /// The anchor that GitHub gives a heading: lower case, letters, digits and hyphens, spaces as hyphens.
    static func anchor(_ heading: String) -> String {
        heading.lowercased().compactMap { character -> String? in
            if character == " " { return "-" }
            return character.isLetter || character.isNumber || "-_".contains(character) ? String(character) : nil
        }.joined()
    }

    /// Where a link of a page leads on the server; nil for a file that the server does not have.
    static func address(_ target: String) -> String? {
        if target.hasPrefix("https://") || target.hasPrefix("#") || target.hasPrefix("/") { return target }
        if target.hasSuffix("/openapi/openapi.yaml") { return "/openapi.yaml" }
        let parts = target.split(separator: "#", maxSplits: 1).map(String.init)
        guard let file = parts.first, file.hasSuffix(".md"), !file.contains("/") else { return nil }
        return "/handbook/" + file.dropLast(3) + (parts.count > 1 ? "#" + parts[1] : "")
    }

    /// Registers the library's extensions, which it wants done once in a process.
    private static let registerExtensions: Void = cmark_gfm_core_extensions_ensure_registered()

    /// The nodes of some types, in the order of the text.
    private static func nodes(of types: [cmark_node_type], below root: OpaquePointer) -> [OpaquePointer] {
        guard let iterator = unsafe cmark_iter_new(root) else { return unsafe [] }
        defer { unsafe cmark_iter_free(iterator) }
        var nodes: [OpaquePointer] = unsafe []
        while true {
            let event = unsafe cmark_iter_next(iterator)
            if event == CMARK_EVENT_DONE { return unsafe nodes }
            guard event == CMARK_EVENT_ENTER, let node = unsafe cmark_iter_get_node(iterator) else { continue }
            let type = unsafe cmark_node_get_type(node)
            if types.contains(where: { $0 == type }) { unsafe nodes.append(node) }
        }
    }

    private static func addAnchors(to headings: [OpaquePointer]) {
        var counts: [String: Int] = [:]
        for index in unsafe headings.indices {
            let heading = unsafe headings[index]
            let base = unsafe Self.anchor(Self.text(of: heading))
            let count = counts[base, default: 0]
            counts[base] = count + 1
            let name = count == 0 ? base : "\(base)-\(count)"
            guard let mark = unsafe cmark_node_new(CMARK_NODE_CUSTOM_INLINE) else { continue }
            // Custom nodes are written as they are: the name has no character that HTML would read.
            unsafe cmark_node_set_on_enter(mark, "<a class=\"anchor\" id=\"\(name)\" href=\"#\(name)\">#</a> ")
            if unsafe cmark_node_prepend_child(heading, mark) == 0 { unsafe cmark_node_free(mark) }
        }
    }

    private static func text(of heading: OpaquePointer) -> String {
        var text = ""
        let parts = unsafe Self.nodes(of: [CMARK_NODE_TEXT, CMARK_NODE_CODE], below: heading)
        for index in unsafe parts.indices {
            if let literal = unsafe cmark_node_get_literal(parts[index]) { text += unsafe String(cString: literal) }
        }
        return text
    }

    private static func resolve(_ links: [OpaquePointer]) {
        for index in unsafe links.indices {
            let link = unsafe links[index]
            guard let target = unsafe cmark_node_get_url(link).map({ unsafe String(cString: $0) }) else { continue }
            if let address = Self.address(target) {
                unsafe cmark_node_set_url(link, address)
                continue
            }
            while let child = unsafe cmark_node_first_child(link) {
                // Inserting takes the child out of the link.
                guard unsafe cmark_node_insert_before(link, child) != 0 else { break }
            }
            unsafe cmark_node_free(link)
        }
    }
}
