import ArgumentParser
import Handbook

struct HandbookCommand: ParsableCommand, Paged {
    static let configuration = CommandConfiguration(
        commandName: "handbook",
        abstract: "Print a page of the handbook, or the list of its pages.",
        discussion: """
            pinledger handbook
            pinledger handbook rotations

            The pages are Markdown. The server shows the same pages at /handbook.
            """
    )

    @Argument(help: "The page to print; without it the list of all pages.", completion: .pages) var page: String?

    var isPaged: Bool { self.page != nil }

    func run() throws {
        guard let name = self.page else {
            var table = Table(["PAGE", "TITLE"])
            for page in Handbook.pages { table.add([page.name, page.title]) }
            return Console.print(table.text)
        }
        guard let page = Handbook.page(name) else {
            let names = Handbook.pages.map(\.name).joined(separator: ", ")
            throw CommandFailure("the handbook has no page \(name)", advice: "Its pages: \(names).", status: .notFound)
        }
        Console.write(page.markdown)
    }
}
