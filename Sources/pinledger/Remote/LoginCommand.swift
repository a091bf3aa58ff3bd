import ArgumentParser
import Foundation
import Keys
import PinWire

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign in with an identity provider; the commands that follow use the session.",
        discussion: """
            pinledger login --server https://pins.example.com:8440

            It shows a code to enter in a browser. A pipeline gives the identity token of its CI system instead, and takes \
            the session's token from standard output:

            PINLEDGER_TOKEN=$(pinledger login --identity-token-file token.jwt --print-token)

            A person for whom an operator of the server made a one-time code (pinledger token bootstrap --code) gets their token \
            with it, which is stored as a session is: pinledger login --code-file -

            The session is stored in ~/.local/state/pinledger/sessions.json, which only you can read.
            """)
    @Option(
        help: ArgumentHelp(
            "Identity provider to sign in with, where the server has several for people.", valueName: "name"))
    var provider: String?
    @Option(
        help: ArgumentHelp(
            "File with an identity token of a provider, - for standard input, instead of a sign-in by code.",
            valueName: "file"))
    var identityTokenFile: String?
    @Option(
        help: ArgumentHelp(
            "File with a one-time code, as `pinledger token bootstrap --code` prints it, - for standard input.",
            valueName: "file"))
    var codeFile: String?
    @Flag(help: "Write the session's token to standard output, and store nothing.") var printToken = false
    @OptionGroup var place: ServerOptions

    func run() async throws {
        var context = try self.place.serverContext()
        context.token = nil
        guard !context.isExposed else {
            throw ConnectionTrouble.tokenExposed.failure(server: context.server, trust: context.trust)
        }
        try await APIClient.with(context) { client in
            let credential: JSON =
                if let file = self.codeFile {
                    ["code": .string(try Self.text(in: file, "one-time code"))]
                } else {
                    ["identity_token": .string(try await self.identityToken(client))]
                }
            let body = credential.canonicalBytes
            let answer = try await client.send("POST", "/v1/sign-in", body: body)
            try answer.check()
            let json = try answer.json
            guard let text = json["token"]?.stringValue, let id = json["token_id"]?.stringValue,
                let end = json["expires_at"]?.stringValue
            else { throw CommandFailure("the server answered without a session") }
            let rules = (json["rules"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", ")
            let reason = rules.isEmpty ? "" : ", by \(rules)"
            Console.error("Signed in as \(json.text("principal_id")) until \(LocalTime.text(end))\(reason).")
            if self.printToken { return Console.print(text) }
            if Environment["PINLEDGER_TOKEN"] != nil {
                Console.error(
                    "PINLEDGER_TOKEN is set: commands use that token, and not this session, until it is unset.")
            }
            let session = SessionFile.Session(server: client.base, token: text, tokenID: id, expiresAt: end)
            guard try await SessionFile.change({ try $0.begin(session) }) != nil else {
                throw CommandFailure(
                    "there is no directory to store the session in: neither XDG_STATE_HOME nor HOME is set",
                    advice: "Set one of them, or use `pinledger login --print-token`.")
            }
        }
    }

    /// What a file holds, or standard input. A CI system gives such a file the permissions that it thinks right, and it is good for
    /// minutes.
    private static func text(in file: String, _ what: String) throws -> String {
        let data = try GivenFile.data(file, takesInput: true)
        guard let text = String(streamSafe: [UInt8](data)) else {
            throw CommandFailure("\(file) holds no \(what): it is not text", status: .usage)
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The identity token in a file, or one that the provider gives after a code was entered.
    private func identityToken(_ client: APIClient) async throws -> String {
        if let file = self.identityTokenFile { return try Self.text(in: file, "identity token") }
        let providers = try await client.get("/v1/sign-in")["providers"]?.arrayValue ?? []
        let names = providers.map { $0.text("provider") }
        let chosen = self.provider.map { name in providers.filter { $0.text("provider") == name } } ?? providers
        guard let provider = chosen.first else {
            throw CommandFailure(
                names.isEmpty ? "nobody can sign in here" : "there is no identity provider \(self.provider ?? "")",
                advice: names.isEmpty
                    ? "Ask who manages access to add a provider (`pinledger access provider set NAME --issuer URL --audience TEXT --client-id ID`), or use an API token."
                    : "Sign in with one of these: \(names.joined(separator: ", ")).", status: .notFound)
        }
        guard chosen.count == 1 else {
            throw CommandFailure(
                "there are several identity providers: \(names.joined(separator: ", "))",
                advice: "Name one with --provider.", status: .usage)
        }
        let device = DeviceAuthorization(
            issuer: provider.text("issuer"), clientID: provider.text("client_id"), scope: provider.text("scope"),
            trust: client.context.trust.withSystem)
        // The server names the provider: what is shown is what the browser must show too.
        Console.error("\(client.base) asks you to sign in at \(device.issuer), as its client \(device.clientID).")
        return try await device.identityToken { address, code in
            Console.error("Open \(address) in a browser and enter this code: \(code)")
        }
    }
}

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "End the session with a server, and forget its token.",
        discussion: "pinledger logout")
    @OptionGroup var place: ServerOptions

    func run() async throws {
        var context = try self.place.serverContext()
        guard let file = try SessionFile(), let session = file[context.base] else {
            throw CommandFailure(
                "there is no session with \(context.server)", advice: "Name the server with --server.",
                status: .notFound)
        }
        context.token = session.token
        try await APIClient.with(context) { client in
            let answer = try await client.send("DELETE", "/v1/tokens/\(APIClient.escaped(session.tokenID))")
            // It is over already.
            if answer.status != 401 { try answer.check() }
        }
        _ = try await SessionFile.change { try $0.end(session) }
        Console.error("Signed out of \(session.server).")
    }
}
