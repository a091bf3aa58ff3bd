import Addresses
import ArgumentParser
import Foundation
import Keys
import PinWire
import Pinning

/// The server of the operator's commands, and the token for it.
struct ServerContext: Sendable {
    var server: String
    var token: String?
    /// When the token ends, where the file of the context says so.
    var tokenEnd: Timestamp?
    /// The token that was found without being given to the command, and that may be over.
    var stored: StoredToken?
    /// The authorities by which the server is verified where its address is `https`.
    var trust: ServerTrust
    /// The certificate that the commands present; nil for none.
    var identity: ClientIdentity?
    /// Whether the token may be sent over plain HTTP to another machine.
    var allowsHTTP = false

    init(server: String, token: String?, trust: ServerTrust = .system, allowsHTTP: Bool = false) {
        self.server = server
        self.token = token
        self.trust = trust
        self.allowsHTTP = allowsHTTP
    }

    /// The server's address, without a slash at its end.
    var base: String {
        var base = self.server
        while base.hasSuffix("/") { base.removeLast() }
        return base
    }

    /// Whether the server is on this machine.
    var isLoopback: Bool {
        let host = URLComponents(string: self.server)?.host ?? ""
        return LoopbackHost.contains(host.trimmingCharacters(in: ["[", "]"]))
    }

    /// Whether everyone on the way to the server could read the token.
    var isExposed: Bool {
        guard !self.allowsHTTP, let address = URLComponents(string: self.server),
            address.scheme?.lowercased() == "http"
        else { return false }
        return !self.isLoopback
    }

    /// Reads a context file, which `pinledger dev` writes into its directory; nil where there is none.
    ///
    /// - Throws: ``CommandFailure`` where others may read the token, or may have written the file.
    init?(path: String) throws {
        let data: [UInt8]
        do throws(PrivateFile.Failure) { data = try PrivateFile.read(path) } catch {
            if case .unreadable = error { return nil }
            throw CommandFailure(error, "the token", path)
        }
        guard let json = try? JSON(parsing: data), let server = json["server"]?.stringValue else { return nil }
        self.server = server
        self.token = json["token"]?.stringValue
        self.tokenEnd = json["expires_at"]?.stringValue.flatMap { Timestamp(rfc3339: $0) }
        self.trust = .system
    }

    /// The file's text.
    var text: String {
        JSON.members([
            "server": .string(self.server), "token": self.token.map { .string($0) },
            "expires_at": self.tokenEnd.map { .string($0.rfc3339) },
        ]).canonicalText + "\n"
    }
}

/// The flags by which commands find the server.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Address of the server. Default: PINLEDGER_SERVER, then what `pinledger dev` wrote into PINLEDGER_DATA (./.pinledger), then the context in use, then the last `pinledger login`.",
            valueName: "url"
        )
    )
    var server: String?

    @Option(
        help: ArgumentHelp(
            "Name of the server, as `pinledger context` knows it. Default: PINLEDGER_CONTEXT.", valueName: "name"),
        completion: .contexts)
    var context: String?

    @Option(
        help: ArgumentHelp(
            "File with the token, which only its owner may read, - for standard input. Default: the context's, or without a context PINLEDGER_TOKEN; then the session of `pinledger login`, then PINLEDGER_DATA (./.pinledger).",
            valueName: "file"
        )
    )
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "File with the certificate authorities (PEM) to trust instead of the system's. Default: PINLEDGER_CA_FILE, then SSL_CERT_FILE.",
            valueName: "file"
        )
    )
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "Certificate (PEM) to present to a server that asks operators for one. [env: PINLEDGER_CLIENT_CERTIFICATE]",
            valueName: "file"))
    var clientCertificate: String?

    @Option(
        help: ArgumentHelp(
            "The certificate's private key (PEM), which only its owner may read. [env: PINLEDGER_CLIENT_KEY]",
            valueName: "file"))
    var clientKey: String?

    @Flag(
        help:
            "Send the token over http to another machine too, where all on the way can read it. [env: PINLEDGER_ALLOW_HTTP=1]"
    )
    var allowHTTP = false

    /// Server and token, by the order of precedence: flag, environment, directory, context in use, session.
    ///
    /// - Parameter isQuiet: Whether nothing is said of a directory that names the server: a shell asks, and no one.
    func serverContext(isQuiet: Bool = false) throws -> ServerContext {
        let found = try DirectoryServer(directory: DataDirectory.ofEnvironment)
        let named = try self.namedContext(unless: found != nil)
        var token = try self.tokenFile.map(Self.text(in:)) ?? Environment["PINLEDGER_TOKEN"]
        var stored: StoredToken?
        if let named {
            // A context's token goes to its own server, and no other's to it.
            token = try self.tokenFile.map(Self.text(in:)) ?? named.tokenFile.map(Self.text(in:))
            if self.tokenFile == nil, let file = named.tokenFile {
                stored = StoredToken(
                    name: "the token in \(file), which the context \(named.name) names",
                    renewal: "Put another token into the file, or name one with --token-file.")
            }
        }
        let server = self.server ?? named?.server ?? Environment["PINLEDGER_SERVER"]
        let sessions = token == nil || (server ?? found?.context.server) == nil ? try SessionFile() : nil
        if server == nil, let found {
            try found.check(token)
            if !isQuiet { found.announce() }
        }
        guard let url = server ?? found?.context.server ?? sessions?.sessions.first?.server else {
            throw CommandFailure(
                "no server is given",
                advice: "Give --server or set PINLEDGER_SERVER; `pinledger dev` starts one on this machine.",
                status: .usage
            )
        }
        var context = ServerContext(
            server: url, token: token, trust: ServerTrust(caFile: self.caFile ?? named?.caFile),
            allowsHTTP: self.allowHTTP || named?.allowsHTTP == true || Environment.isSet("PINLEDGER_ALLOW_HTTP"))
        context.identity = try ClientIdentity(
            certificateFile: self.clientCertificate ?? named?.clientCertificate,
            keyFile: self.clientKey ?? named?.clientKey)
        // A token is only sent to the server for which it was made.
        if token == nil {
            let own = url == found?.context.server ? found?.context.token : nil
            let session = sessions?.token(of: context.base)
            context.token = session ?? own
            // A session that is over is named, unless there is another token.
            stored = session != nil || own == nil ? sessions?.stored(for: context.base) : found?.stored
        }
        context.stored = stored
        return context
    }

    /// The context that is named by flag or variable, or is in use; nil where the server is given otherwise.
    ///
    /// - Parameter isElsewhere: Whether the directory names a server, which comes before the context in use.
    private func namedContext(unless isElsewhere: Bool) throws -> ContextFile.Context? {
        guard self.server == nil || self.context == nil else {
            throw CommandFailure("give --server or --context, not both", status: .usage)
        }
        guard self.server == nil else { return nil }
        let isByVariable = self.context == nil && Environment["PINLEDGER_SERVER"] != nil
        guard !isByVariable else { return nil }
        let wanted = self.context ?? Environment["PINLEDGER_CONTEXT"]
        guard wanted != nil || !isElsewhere else { return nil }
        guard let file = try ContextFile() else {
            guard wanted == nil else { throw ContextFile.homeless }
            return nil
        }
        guard let name = wanted ?? file.current else { return nil }
        return try file.context(named: name)
    }

    /// The token in a file, or in standard input.
    private static func text(in file: String) throws -> String {
        guard let text = String(streamSafe: try Self.token(in: file)) else {
            throw CommandFailure("\(file) holds no token: it is not text", status: .unauthorized)
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The bytes of a file with a token, or of standard input.
    private static func token(in file: String) throws(CommandFailure) -> [UInt8] {
        if file == "-" { return [UInt8](FileHandle.standardInput.readDataToEndOfFile()) }
        do throws(PrivateFile.Failure) { return try PrivateFile.read(file) } catch {
            throw CommandFailure(error, "the token", file, status: .unauthorized)
        }
    }

    /// Runs `body` with a client, which is closed afterwards on every way out.
    func withClient<R>(_ body: (APIClient) async throws -> R) async throws -> R {
        try await APIClient.with(try self.serverContext(), body)
    }
}

/// The form of a server's answer.
struct FormOption: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Form of the output. Lists have all values in wide, and the first column alone in name.", valueName: "form")
    )
    var form: OutputForm = .table
}

/// The flags of every command that shows a server's answer.
struct RemoteOptions: JoinedArguments {
    var place = ServerOptions()
    private var answer = FormOption()
    private var part = PartOption()

    init() {}

    init(joining decoder: any Decoder) throws {
        self.place = try ServerOptions(from: decoder)
        self.answer = try FormOption(from: decoder)
        self.part = try PartOption(from: decoder)
    }

    var groups: [any ParsableArguments] { [self.place, self.answer, self.part] }

    /// The form of the output, and the part of the answer that is asked for.
    var output: OutputForm {
        var output = self.answer.form
        output.query = self.part.query
        return output
    }

    /// Server and token, by the order of precedence: flag, environment, directory.
    func serverContext() throws -> ServerContext { try self.place.serverContext() }

    /// Sends a change and shows what was recorded.
    func change(
        _ method: String, _ path: String, _ members: [String: JSON], _ options: ChangeOptions
    ) async throws {
        try await self.withClient { client in
            ChangeReport.print(try await client.change(method, path, members, options), self.output)
        }
    }

    /// Sends a change that has only a reason, and shows what was recorded.
    func change(_ method: String, _ path: String, _ options: ChangeOptions) async throws {
        try await self.change(method, path, [:], options)
    }

    /// Runs `body` with a client, which is closed afterwards on every way out.
    func withClient<R>(_ body: (APIClient) async throws -> R) async throws -> R {
        try await self.place.withClient(body)
    }
}

/// The flags of commands that name new pins: each a file with the key, or a pin.
struct NewPinOptions: ParsableArguments {
    @Option(help: "Key that is served now: a pin, or a file with a certificate, signing request or public key.")
    var primary: [String] = []
    @Option(help: "Key that is ready to be served. May be repeated.") var backup: [String] = []
    @Option(help: "Key that is kept offline. May be repeated.") var emergency: [String] = []

    /// The pins in the API's form.
    var json: JSON {
        get throws {
            let roles = [("primary", self.primary), ("backup", self.backup), ("emergency", self.emergency)]
            return .array(
                try roles.flatMap { role, keys in
                    try keys.map { key in
                        var members = try KeyInput(key).members
                        members["role"] = .string(role)
                        return .object(members)
                    }
                }
            )
        }
    }
}
