import Foundation
import Pinning
import Testing

@testable import PinledgerServer

/// The handbook's `guard-rails.md` against the rails and the commands there are.
@Suite struct `The guard rails' pages` {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardizedFileURL

    /// A command's words: those of what stands at the top, and of what stands below it.
    private struct Commands {
        var top: Set<String>
        var below: [String: Set<String>]
    }

    /// What the program's sources declare: each `CommandConfiguration` with a name and the types below it, which are
    /// called by their own names in lower case.
    private static func commands() throws -> Commands {
        var commands = Commands(top: [], below: [:])
        let folder = Self.root.appendingPathComponent("Sources/pinledger")
        let paths = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        for case let file as URL in paths where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            let names = text.matches(of: #/commandName: "([a-z-]+)"/#).map { String($0.output.1) }
            guard let name = names.first, name != "pinledger" else { continue }
            commands.top.insert(name)
            let lists = text.matches(of: #/subcommands: \[([^\]]*)\]/#)
            for list in lists {
                for type in list.output.1.matches(of: #/([A-Z][A-Za-z]+)\.self/#) {
                    commands.below[name, default: []].insert(type.output.1.lowercased())
                }
            }
        }
        return commands
    }

    @Test(arguments: GuardRail.allCases) func `the handbook has one page for each guard rail, under its title`(
        rail: GuardRail
    ) {
        let page = GuardRailPages.text(of: rail)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first == "# \(rail.code) \(rail.entry.title)")
        #expect(page.count >= 300, "a page says what to do")
        for lead in ["Why: ", "Judged by: ", "Overriding: "] {
            #expect(lines.contains { $0.hasPrefix(lead) }, "\(rail.code) lacks \(lead)")
        }
        #expect(lines.contains { $0.hasPrefix("When it fires:") || $0.hasPrefix("What to do with it:") })
    }

    @Test(arguments: GuardRail.allCases) func `the guard rails' pages say correctly whether a rail can be lowered`(
        rail: GuardRail
    ) {
        let page = GuardRailPages.text(of: rail).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let can = page.contains("Can be lowered") || page.contains("It can be lowered")
        #expect(can == rail.isAdjustable, "\(rail.code)")
    }

    @Test func `the guard rails' pages name existing commands`() throws {
        let commands = try Self.commands()
        #expect(commands.top.contains("serve") && commands.below["pin"]?.contains("retire") == true)
        #expect(commands.top.contains("import") && commands.below["import"] == nil)
        var count = 0
        for rail in GuardRail.allCases {
            let page = GuardRailPages.text(of: rail)
            for match in page.matches(of: #/`pinledger ([^`]*)`/#) {
                let words = match.output.1.split(separator: " ").map(String.init)
                let name = try #require(words.first)
                #expect(commands.top.contains(name), "\(rail.code): \(match.output.0)")
                if let below = commands.below[name] {
                    #expect(words.count > 1 && below.contains(words[1]), "\(rail.code): \(match.output.0)")
                }
                count += 1
            }
            #expect(
                page.matches(of: #/pinledger [a-z]/#).count == page.matches(of: #/`pinledger [a-z]/#).count,
                "\(rail.code): a command stands in backquotes")
        }
        #expect(count > 60)
    }

    @Test func `the guard rails' pages name existing rails`() {
        for rail in GuardRail.allCases {
            for match in GuardRailPages.text(of: rail).matches(of: #/\bG[0-9]{2}\b/#) {
                #expect(GuardRail(rawValue: String(match.output)) != nil, "\(rail.code): \(match.output)")
            }
        }
    }

    @Test func `the guard rails' pages begin with what holds for all of them`() throws {
        let file = Self.root.appendingPathComponent("Sources/CHandbook/pages/guard-rails.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.hasPrefix("# Guard rails\n"))
        let headings = text.split(separator: "\n").filter { $0.hasPrefix("## ") }.map {
            String($0.dropFirst(3).prefix(3))
        }
        #expect(headings == GuardRail.allCases.map(\.code), "every page is there once, in order")
    }
}
