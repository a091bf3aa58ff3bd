import ArgumentParser
import Foundation
import Keys
import PinWire

struct ContextCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "context",
        abstract: "Manage names for servers, so that one command line works with several.",
        discussion: """
            pinledger context add production --server https://pins.example.com --token-file ~/.config/pinledger/production
            pinledger context use production
            pinledger status --context staging

            A command takes its server from --server, --context, PINLEDGER_SERVER, PINLEDGER_CONTEXT, what `pinledger dev` \
            wrote, the context in use, or the last `pinledger login`, in this order.
            """,
        subcommands: [Add.self, Use.self, List.self, Remove.self])

    /// The file, which a user without a home has not.
    fileprivate static func file() throws -> ContextFile {
        guard let file = try ContextFile() else { throw ContextFile.homeless }
        return file
    }

    /// Says what comes before the context in use.
    fileprivate static func warnOfPrecedence() {
        for name in ["PINLEDGER_SERVER", "PINLEDGER_CONTEXT"] where Environment[name] != nil {
            return Console.error("\(name) is set, and comes before it.")
        }
        let directory = DataDirectory.ofEnvironment
        guard PrivateFile.exists("\(directory)/context.json") else { return }
        Console.error("\(directory) names the server of `pinledger dev`, and comes before it.")
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a name for a server, or change what it stands for.",
            discussion:
                "pinledger context add production --server https://pins.example.com --token-file ~/.config/pinledger/production"
        )
        @Argument(help: "The name.") var name: String
        @Option(help: ArgumentHelp("Address of the server.", valueName: "url")) var server: String
        @Option(
            help: ArgumentHelp(
                "File with the token. Default: the session of `pinledger login` with the server.", valueName: "file"))
        var tokenFile: String?
        @Option(
            help: ArgumentHelp(
                "File with the certificate authorities (PEM) to trust instead of the system's.", valueName: "file"))
        var caFile: String?
        @Option(help: ArgumentHelp("Certificate (PEM) to present to the server.", valueName: "file"))
        var clientCertificate: String?
        @Option(help: ArgumentHelp("The certificate's private key (PEM).", valueName: "file")) var clientKey: String?
        @Flag(help: "Send the token over http to another machine too, where all on the way can read it.")
        var allowHTTP = false

        func run() async throws {
            let isPlain = self.name.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "-")
            }
            guard isPlain, (1...64).contains(self.name.utf8.count) else {
                throw CommandFailure(
                    "\(self.name) is no name for a context: it has 1 to 64 lower-case letters, digits and hyphens",
                    status: .usage)
            }
            let address = URLComponents(string: self.server)
            guard let address, ["http", "https"].contains(address.scheme?.lowercased()),
                address.host?.isEmpty == false, address.user == nil, address.password == nil, address.query == nil,
                address.fragment == nil
            else {
                throw CommandFailure(
                    "\(self.server) is no address of a server",
                    advice: "Give https:// or http:// with the host, and without a user, a query or a fragment.",
                    status: .usage)
            }
            guard (self.clientCertificate == nil) == (self.clientKey == nil) else {
                throw CommandFailure("--client-certificate and --client-key must be given together", status: .usage)
            }
            for file in [self.tokenFile, self.caFile, self.clientCertificate, self.clientKey] {
                guard let file, file.isEmpty || file == "-" else { continue }
                throw CommandFailure("a context names files, and “\(file)” is none", status: .usage)
            }
            let context = ContextFile.Context(
                name: self.name, server: self.server, tokenFile: Self.absolute(self.tokenFile),
                caFile: Self.absolute(self.caFile), clientCertificate: Self.absolute(self.clientCertificate),
                clientKey: Self.absolute(self.clientKey), allowsHTTP: self.allowHTTP)
            let (before, isInUse) = try await ContextFile.change { file in
                let before = file[self.name]
                try file.add(context)
                return (before, file.current == self.name)
            }
            Console.print("\(self.name) is \(before == nil ? "added" : "replaced")\(isInUse ? ", and in use" : "").")
            if let file = before?.tokenFile, context.tokenFile == nil {
                Console.error("It named the token file \(file), and names none now.")
            }
            ContextCommands.warnOfPrecedence()
        }

        /// The same file from every directory.
        private static func absolute(_ path: String?) -> String? {
            path.map { URL(fileURLWithPath: ($0 as NSString).expandingTildeInPath).standardizedFileURL.path }
        }
    }

    struct Use: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "use", abstract: "Set which context commands use where nothing else is said.",
            discussion: "pinledger context use production")
        @Argument(help: "The name.", completion: .contexts) var name: String

        func run() async throws {
            try await ContextFile.change { try $0.use(self.name) }
            Console.print("\(self.name) is in use.")
            ContextCommands.warnOfPrecedence()
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the contexts.", discussion: "pinledger context list")
        @Option(name: [.short, .long], help: ArgumentHelp("Form of the output.", valueName: "form"))
        var output: OutputForm = .table

        func run() async throws {
            let file = try ContextCommands.file()
            guard self.output.isTable else {
                return Console.print(
                    .members([
                        "current": file.current.map { .string($0) }, "contexts": .array(file.contexts.map(\.json)),
                    ]), self.output)
            }
            if self.output.kind == .name { return file.contexts.forEach { Console.line($0.name) } }
            guard !file.contexts.isEmpty else { return Console.error("None.") }
            var table = Table(["", "NAME", "SERVER", "TOKEN"])
            for context in file.contexts {
                table.add([
                    context.name == file.current ? "*" : "", context.name, context.server,
                    context.tokenFile ?? "session of login",
                ])
            }
            Console.print(table)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a context. The files that it names stay.",
            discussion: "pinledger context remove production")
        @Argument(help: "The name.", completion: .contexts) var name: String

        func run() async throws {
            try await ContextFile.change { try $0.remove(self.name) }
            Console.print("\(self.name) is removed.")
        }
    }
}
