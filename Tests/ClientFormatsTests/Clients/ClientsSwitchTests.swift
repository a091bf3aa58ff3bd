import ClientFormats
import Foundation
import Pinning
import Testing

/// A new kind of client has to be declared, and nothing may take it for another one without the compiler's objection.
@Suite struct `A switch over kinds of clients or formats of exports` {
    private static let kinds = Set(ClientKind.allCases.map { "\($0)" })
    private static let names = Self.kinds.union(ExportFormat.allCases.map { "\($0)" })

    @Test func `the program's source has no switch with a default over kinds, and compares no kind`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources")
            .standardized
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            count += 1
            for line in Self.offences(in: try String(contentsOf: file, encoding: .utf8)) {
                Issue.record(
                    "\(file.lastPathComponent):\(line) decides by the kind of client: declare it in ClientProfile")
            }
        }
        #expect(count > 500)
    }

    @Test(arguments: [
        "switch kind {\ncase .okhttp: 1\ndefault: 0\n}", "switch kind {\ncase .okhttp: 1\ncase _: 0\n}",
        "let a =\n    switch kind {\n    case .swift, .json,\n        .curl: 1\n    default: 0\n    }",
        "return switch kind {\ncase .netkit:\n    switch mode {\n    case .off: 1\n    }\ncase _ where isOn: 2\n}",
        "if check.kind == .wultra {", "guard self.kind != .okhttp3 else { return }", "if case .curl = kind {",
    ])
    func `a switch with a default is found, and a comparison with a kind`(text: String) {
        #expect(Self.offences(in: text).count == 1)
    }

    @Test(arguments: [
        "switch kind {\ncase .okhttp: 1\ncase .curl: 0\n}", "switch mode {\ncase .off: 1\ndefault: 0\n}",
        "switch kind {\ncase .okhttp:\n    switch mode {\n    case .off: 1\n    default: 0\n    }\ncase .curl: 0\n}",
        "// if kind == .wultra {", "guard output == .json else { return }", "self.kind = .curl",
    ])
    func `other switches and comparisons are ignored`(text: String) {
        #expect(Self.offences(in: text).isEmpty)
    }

    /// The lines with such switches and comparisons. Labels stand as deep as their switch, as the formatter has them.
    private static func offences(in text: String) -> [Int] {
        struct Switch {
            var depth: Int
            var line: Int
            var names: Set<String> = []
            var isOpen = false
        }
        // Made once: that takes long.
        let (names, comparisons) = (/\.([a-zA-Z0-9]+)/, /(?:[!=]= |if case |guard case )\.([a-zA-Z0-9]+)/)
        var found: [Int] = []
        var open: [Switch] = []
        /// Whether the line goes on with the label of the innermost switch.
        var isLabel = false
        for (place, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let code = line.drop { $0 == " " }
            guard !code.hasPrefix("//") else { continue }
            let depth = line.utf8.count - code.utf8.count
            if let last = open.last, code.hasPrefix("}"), depth == last.depth {
                open.removeLast()
                if last.isOpen, !last.names.isDisjoint(with: Self.names) { found.append(last.line) }
            }
            if let last = open.indices.last, depth == open[last].depth || isLabel {
                if code.hasPrefix("default:") || code.hasPrefix("case _") { open[last].isOpen = true }
                if code.hasPrefix("case ") || isLabel {
                    let label = code.prefix { $0 != ":" }
                    open[last].names.formUnion(label.matches(of: names).map { String($0.output.1) })
                    isLabel = label.utf8.count == code.utf8.count
                }
            }
            if code.hasSuffix("{"), code.contains("switch ") { open.append(Switch(depth: depth, line: place + 1)) }
            guard code.contains("= .") || code.contains("case .") else { continue }
            let compared = code.matches(of: comparisons)
            if compared.contains(where: { Self.kinds.contains(String($0.output.1)) }) { found.append(place + 1) }
        }
        return found
    }
}
