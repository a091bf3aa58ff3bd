import ArgumentParser
import Foundation
import PinWire

/// Any operation of the API, with the command line's server, token and errors.
struct APICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Send a request to the API, for what has no command of its own.",
        discussion: """
            pinledger api GET /v1/apps/com.example.shop/explain?host=api.example.com
            pinledger api PATCH /v1/apps/com.example.shop --body '{"display_name": "Shop"}'
            pinledger api PATCH /v1/apps/com.example.shop --body @change.yaml

            The body is JSON, or a file in JSON or YAML. The answer's body goes to standard output as it is; an error ends with the exit \
            code of other commands. A request that changes something gets an idempotency key and is repeated while its \
            outcome is unknown. The API is described at /openapi.yaml.
            """)
    enum Method: String, CaseIterable, ExpressibleByArgument {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"

        /// Reads a method in upper or lower case.
        init?(argument: String) { self.init(rawValue: argument.uppercased()) }
    }

    @Argument(help: "The method.") var method: Method
    @Argument(help: "Path and query, such as /v1/apps.") var path: String
    @Option(
        help: ArgumentHelp(
            "The body: text in JSON, or a file in JSON or YAML (@ before its name tells it from text), - for standard input.",
            valueName: "body"))
    var body: String?
    @Option(
        help: ArgumentHelp("Key of the change. A change repeated with the same key is recorded once.", valueName: "key")
    )
    var idempotencyKey: String?
    @Option(
        help: ArgumentHelp("Header to send, such as 'If-Match: \"12\"'. May be repeated.", valueName: "name: value"))
    var header: [String] = []
    @Flag(help: "Show the answer's status and headers too, on standard error.") var include = false
    @OptionGroup var part: PartOption
    @OptionGroup var place: ServerOptions

    func run() async throws {
        guard self.path.hasPrefix("/") else {
            throw CommandFailure(
                "\(self.path) is no path of the API: it begins without /", advice: "Give a path such as /v1/apps.",
                status: .usage)
        }
        let body = try self.body.map(Self.bytes(of:))
        let headers = try self.header.map(Self.header)
        try await self.place.withClient { client in
            let answer =
                if [.get, .head].contains(self.method) {
                    try await client.send(self.method.rawValue, self.path, body: body, headers: headers)
                } else {
                    try await client.sendOnce(
                        self.method.rawValue, self.path,
                        body: body ?? (self.method == .delete ? nil : Array("{}".utf8)),
                        key: self.idempotencyKey, headers: headers)
                }
            if self.include {
                Console.error("HTTP \(answer.status)")
                for header in answer.headers { Console.error("\(header.name): \(header.value)") }
            }
            try answer.check()
            if let query = self.part.query {
                var output = OutputForm.table
                output.query = query
                return Console.print(try answer.json, output)
            }
            Console.write(answer.body)
            // JSON ends without a line feed, which a terminal misses.
            if !answer.body.isEmpty, answer.body.last != UInt8(ascii: "\n"), Console.isTerminal {
                Console.print("")
            }
        }
    }

    /// The body that a word stands for: JSON itself, or the name of a file.
    static func bytes(of word: String) throws -> [UInt8] {
        if word.hasPrefix("@") { return try YAMLFile(path: String(word.dropFirst())).requestBody }
        let first = word.first { !$0.isWhitespace }
        let isText = first.map { "{[\"".contains($0) } ?? false
        let isJSON = (try? JSON(parsing: Array(word.utf8), limits: .stored(depth: 64, nodes: .max))) != nil
        guard isText || (isJSON && !FileManager.default.fileExists(atPath: word)) else {
            return try YAMLFile(path: word).requestBody
        }
        return try YAMLFile(Array(word.utf8), named: "the text of --body").requestBody
    }

    private static func header(_ text: String) throws -> (String, String) {
        guard let colon = text.firstIndex(of: ":") else {
            throw CommandFailure("--header \(text) has no colon", advice: "Give NAME: VALUE.", status: .usage)
        }
        let name = text[..<colon].trimmingCharacters(in: .whitespaces)
        let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        let marks = "!#$%&'*+-.^_`|~".utf8
        let isToken = name.utf8.allSatisfy {
            (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || marks.contains($0)
        }
        guard !name.isEmpty, isToken, value.utf8.allSatisfy({ $0 == 9 || (0x20...0x7E).contains($0) }) else {
            throw CommandFailure(
                "--header \(text) is no header", advice: "Give NAME: VALUE, in ASCII and on one line.", status: .usage)
        }
        guard !["authorization", "host", "idempotency-key"].contains(name.lowercased()) else {
            throw CommandFailure(
                "--header cannot set \(name): the command does, by its own flags", status: .usage)
        }
        return (name, value)
    }
}
