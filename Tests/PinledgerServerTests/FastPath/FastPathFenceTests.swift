import Foundation
import Testing

/// The fast path stays in its folder.
@Suite struct FastPathFenceTests {
    @Test func `nothing outside the folder names a type of the fast path but its face`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources")
            .standardized
        let folder = sources.appending(path: "PinledgerServer/FastPath").path
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var (inside, outside): (Set<String>, [(file: String, code: String)]) = ([], [])
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            if file.path.hasPrefix(folder) {
                for line in code {
                    guard let match = line.firstMatch(of: /^(?:final )?(?:class|struct|enum|protocol) (\w+)/) else {
                        continue
                    }
                    inside.insert(String(match.1))
                }
            } else {
                outside.append((file.lastPathComponent, code.joined(separator: "\n")))
            }
        }
        #expect(inside.remove("FastPath") != nil && inside.contains("PreparedStreams"))
        for (file, code) in outside {
            let words = Set(code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
            let named = words.intersection(inside)
            #expect(named.isEmpty, "\(file) names \(named.sorted())")
            #expect(!words.contains("FastPath") || file == "ConnectionSetup.swift", "\(file) uses the fast path")
        }
    }
}
