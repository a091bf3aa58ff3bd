import Foundation
import Testing

@Suite("The example of the client library")
struct LibraryExampleTests {
    @Test("The handbook shows the example that is compiled here")
    func isOfTheHandbook() throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let source = try String(contentsOf: here.appending(path: "LibraryExample.swift"), encoding: .utf8)
        let page = here.appending(path: "../../Sources/CHandbook/pages/client-library.md").standardized
        let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
        let shown = try #require(
            blocks.first { $0.contains("import PinledgerClientNIO") }?.components(separatedBy: "```").first)
        let lines = shown.split(separator: "\n").map(String.init)
        let compiled = Set(source.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
        #expect(lines.count > 15)
        for line in lines { #expect(compiled.contains(line.trimmingCharacters(in: .whitespaces)), "\(line)") }
    }
}
