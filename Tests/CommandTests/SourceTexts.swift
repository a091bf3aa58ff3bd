import Foundation

/// The program's own source, for tests that hold of all of it.
enum SourceTexts {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Every Swift file below `Sources`, by its path there, without lines that are comments alone.
    static func swift() throws -> [(path: String, text: String)] {
        let sources = Self.root.appending(path: "Sources")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path()).filter {
            $0.hasSuffix(".swift")
        }
        return try paths.sorted().map { path in
            let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter {
                !$0.drop { $0 == " " }.hasPrefix("//")
            }
            return (path, lines.joined(separator: "\n"))
        }
    }
}

/// What must stand in nothing that an operator reads.
enum Unreadable {
    /// Why a text is none for people; nil where it is one.
    static func reason(_ text: String) -> String? {
        if text.isEmpty { return "it is empty" }
        for part in [".swift", ".cc:", ".c:", "Optional(", "Error(", "Error.", "error:1", "#file", "::"]
        where text.contains(part) { return "it has \(part)" }
        // `camelCase` or `camelCase(label:` is a name of Swift.
        let words = text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        for word in words where Self.isCamelCase(word) { return "it has \(word)" }
        return nil
    }

    private static func isCamelCase(_ word: Substring) -> Bool {
        guard word.first?.isLowercase == true, !["iOS", "macOS", "pinTypes"].contains(String(word)) else {
            return false
        }
        return zip(word, word.dropFirst()).contains { $0.isLowercase && $1.isUppercase }
    }
}
