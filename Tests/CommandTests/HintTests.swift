import ArgumentParser
import Foundation
import PinWire
import Pinning
import Synchronization
import Testing

@testable import pinledger

/// Every command that the program prints or its documents name is one that it takes.
@Suite struct `A command in a hint` {
    struct Hint: Sendable, CustomTestStringConvertible {
        var place: String
        var words: [String]
        /// Whether it ends in `…`, which may stand for further words or for none.
        var isOpen: Bool
        var testDescription: String { "\(self.place): \(self.words.joined(separator: " "))" }
    }

    /// Words for placeholders that only take some values.
    private static let values = [
        "KIND": "android_nsc", "FORMAT": "android_nsc", "MODE": "enforce", "ROLE": "backup", "POLICY": "candidate",
    ]

    /// The commands between backticks in a text. What is interpolated and what stands for something else (`APP`, `…`)
    /// becomes a word that its argument takes.
    static func hints(in text: String, at place: String) -> [Hint] {
        let joined = text.replacing(#/\\\n\s*/#, with: "")
        return joined.matches(of: #/`pinledger([ \n][^`]*)?`/#).map { match in
            var line = Self.withoutInterpolations(String(match.1 ?? ""))
            if let pipe = line.firstIndex(of: "|") { line = String(line[..<pipe]) }
            let words = ShellWords.split(line).map { word in
                if let value = Self.values[word] { return value }
                return word.contains("…")
                    || (word.count > 1 && word.allSatisfy { $0.isUppercase || $0 == ":" || $0 == "_" })
                    || word == "N" ? "1" : word
            }
            return Hint(place: place, words: words, isOpen: line.hasSuffix("…"))
        }
    }

    private static func withoutInterpolations(_ text: String) -> String {
        var result = ""
        var rest = Substring(text)
        while let start = rest.firstRange(of: "\\(") {
            var depth = 1
            var index = start.upperBound
            while index < rest.endIndex, depth > 0 {
                if rest[index] == "(" { depth += 1 }
                if rest[index] == ")" { depth -= 1 }
                index = rest.index(after: index)
            }
            let expression = rest[start.upperBound..<index].lowercased()
            let name = Self.values.keys.sorted().first { expression.contains($0.lowercased()) }
            result += rest[..<start.lowerBound] + (name.flatMap { Self.values[$0] } ?? "1")
            rest = rest[index...]
        }
        return result + rest
    }

    static let printed: [Hint] = ((try? SourceTexts.swift()) ?? []).flatMap { Self.hints(in: $0.text, at: $0.path) }

    /// Whether the parser takes the words; nil, or what it says.
    private func complaint(about words: some Collection<String>) async -> String? {
        let words = Array(words)
        if let known = Self.known.withLock({ $0[words] }) { return known }
        let complaint: String?
        do {
            _ = try await CommandTree.parse(words)
            complaint = nil
        } catch {
            complaint = Pinledger.exitCode(for: error) == .success ? nil : Pinledger.message(for: error)
        }
        Self.known.withLock { $0[words] = .some(complaint) }
        return complaint
    }

    /// The parser's answers so far: many places name the same command.
    private static let known = Mutex<[[String]: String?]>([:])

    @Test func `every command in a hint is found in the source`() { #expect(Self.printed.count > 50) }

    @Test(arguments: printed) func `a command in a hint runs once its placeholders are filled`(hint: Hint) async {
        let complaint = await self.complaint(about: hint.words)
        #expect(complaint == nil, "\(hint.testDescription): \(complaint ?? "")")
    }

    static let documents: [String] = {
        let folder = "Sources/CHandbook/pages"
        let place = SourceTexts.root.appending(path: folder).path()
        let pages = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
        return ["README.md", "openapi/openapi.yaml"] + pages.sorted().map { "\(folder)/\($0)" }
    }()

    @Test func `commands are looked for in every page of the handbook`() { #expect(Self.documents.count > 15) }

    @Test(arguments: documents)
    func `every command that a document names exists in the program`(path: String) async throws {
        let text = try String(contentsOf: SourceTexts.root.appending(path: path), encoding: .utf8)
        for hint in Self.hints(in: text, at: path) {
            guard let complaint = await self.complaint(about: hint.words) else { continue }
            if hint.isOpen, await self.complaint(about: hint.words.dropLast()) == nil { continue }
            // A document may name a command without its arguments.
            #expect(complaint.contains("Missing"), "\(hint.testDescription): \(complaint)")
        }
    }

    @Test func `a wrong command in a hint is found`() async {
        for line in ["`pinledger version`", "`pinledger pin add`", "`pinledger app list --frobnicate`"] {
            let hints = Self.hints(in: line, at: "here")
            #expect(hints.count == 1)
            for hint in hints { #expect(await self.complaint(about: hint.words) != nil, "\(line)") }
        }
    }

    /// The operator of the command line reads commands, not requests.
    @Test func `a command in a hint stands beside each request that the hint names`() throws {
        for (path, text) in try SourceTexts.swift() where path.hasPrefix("Pinning/") || path.contains("ProblemType") {
            for match in text.matches(of: #/"[^"\n]*\b(?:POST|PUT|PATCH|DELETE)\b[^"\n]*"/#)
            where !match.output.contains("`pinledger ") && match.output.contains(" ") {
                Issue.record("\(path) speaks of a request alone: \(match.output)")
            }
        }
    }

    @Test func `a command in a hint names a version of the app as options do`() async throws {
        let gate = VersionGate(
            minimum: try AppVersion("3.1.0"), maximum: try AppVersion("3.1.2"), excluded: [try AppVersion("3.1.1")],
            minimumBuild: 7)
        let words = "kill release com.example --versions 3.1.0..3.1.2 --except 3.1.1 --min-build 7".split(
            separator: " ")
        let command = try await Pinledger.asyncParseAsRoot(words.map(String.init))
        let release = try #require(command as? KillCommands.Release)
        #expect(try release.scope.range() == gate)
    }
}
