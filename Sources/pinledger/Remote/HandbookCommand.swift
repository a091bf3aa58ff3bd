import ArgumentParser
import Handbook

struct HandbookCommand: ParsableCommand, Paged {
    static let configuration = CommandConfiguration(
        commandName: "handbook",
        abstract: "Print a page of the handbook, or the list of its pages.",
        discussion: """
            pinledger handbook
            pinledger handbook rotations
            pinledger handbook alerts#pinledgerdown

            The pages are Markdown. The server shows the same pages at /handbook.
            """
    )

    @Argument(
        help: "The page to print, or one section of it: PAGE#SECTION. Default: the list of all pages.",
        completion: .pages)
    var page: String?

    var isPaged: Bool { self.page != nil }

    func run() throws {
        guard let name = self.page else {
            var table = Table(["PAGE", "TITLE"])
            for page in Handbook.pages { table.add([page.name, page.title]) }
            return Console.print(table)
        }
        let parts = name.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let page = Handbook.page(parts[0]) else {
            let names = Handbook.pages.map(\.name).joined(separator: ", ")
            throw CommandFailure("the handbook has no page \(name)", advice: "Its pages: \(names).", status: .notFound)
        }
        guard parts.count == 2 else { return Console.write(page.markdown) }
        guard let section = Self.section(parts[1], of: String(decoding: page.markdown, as: UTF8.self)) else {
            throw CommandFailure(
                "the page \(parts[0]) has no section \(parts[1])",
                advice: "Print all of it: pinledger handbook \(parts[0])",
                status: .notFound)
        }
        Console.print(section)
    }

    /// The part of a page from the heading with an anchor to the next heading that is as high. Anchors are those of the pages' links:
    /// the heading in lower case, with hyphens for spaces and without punctuation.
    private static func section(_ anchor: String, of page: String) -> String? {
        var found: [Substring] = []
        var level: Int?
        var isCode = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            let depth = isCode ? 0 : line.prefix { $0 == "#" }.count
            if depth > 0 {
                if let level, depth <= level { break }
                let name = line.drop { $0 == "#" || $0 == " " }.lowercased().filter {
                    $0.isLetter || $0.isNumber || [" ", "-", "_"].contains($0)
                }
                if level == nil, name.replacing(" ", with: "-") == anchor.lowercased() { level = depth }
            }
            if level != nil { found.append(line) }
        }
        guard level != nil else { return nil }
        while found.last?.isEmpty == true { found.removeLast() }
        return found.joined(separator: "\n")
    }
}
