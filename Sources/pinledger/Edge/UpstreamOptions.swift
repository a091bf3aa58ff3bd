import ArgumentParser
import Edge
import Foundation
import NIOSSL
import PinWire
import Publishing

/// Where an edge's documents come from, and by what it trusts them.
struct UpstreamOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Address of the server, or edge, whose documents to serve: where clients ask it. May be repeated: the next one is asked where one fails. [env: PINLEDGER_UPSTREAM, separated by commas]",
            valueName: "url"))
    var upstream: [String] = []

    @Option(
        help: ArgumentHelp(
            "File with a token for the upstream: of a server one with the role viewer, of an edge one of its --downstream-token-file. It is read again for each list. [env: PINLEDGER_UPSTREAM_TOKEN_FILE]",
            valueName: "file"))
    var upstreamTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Certificate authorities (PEM) of the upstream, and no others. Default: those of this machine. [env: PINLEDGER_UPSTREAM_CA_FILE]",
            valueName: "file"))
    var upstreamCAFile: String?

    @Option(
        help: ArgumentHelp(
            "Root of trust, or JWKS with the keys that sign documents, such as apps ship. No document of another key is served, whatever the upstream says. It is read again when it changes, and on SIGHUP. [env: PINLEDGER_TRUSTED_KEYS]",
            valueName: "file"))
    var trustedKeys: String?

    /// Where the upstream is.
    func address(_ settings: Settings) throws -> UpstreamAddress {
        let addresses = settings.list(.upstream, self.upstream)
        guard !addresses.isEmpty else {
            throw CommandFailure(
                "no upstream is given", advice: "Give --upstream, such as --upstream https://pins.example.com.",
                status: .usage)
        }
        let tokenFile = settings.text(.upstreamTokenFile, self.upstreamTokenFile)
        for address in addresses { try Self.check(address, settings, sendsToken: tokenFile != nil) }
        let authorities = settings.text(.upstreamCAFile, self.upstreamCAFile)
        let trust: ServerTrust = authorities.map { .authorities(file: $0) } ?? .system
        return UpstreamAddress(
            all: addresses, tokenFile: tokenFile, tls: try settings.locating(.upstreamCAFile, trust.configuration))
    }

    private static func check(_ base: String, _ settings: Settings, sendsToken: Bool) throws {
        guard URL(string: base)?.user == nil, URL(string: base)?.password == nil else {
            throw settings.failure(
                .upstream, "must not hold a user or a password", advice: "Give the token by --upstream-token-file.")
        }
        guard let url = URL(string: base), ["http", "https"].contains(url.scheme?.lowercased()), let host = url.host,
            url.query == nil, url.fragment == nil
        else {
            throw settings.failure(
                .upstream, "must be an address such as https://pins.example.com, and is \(String(shown: base.utf8))")
        }
        guard url.scheme?.lowercased() == "https" || LoopbackHost.contains(host) || !sendsToken else {
            throw settings.failure(
                .upstream, "is plain http, and the token would go there in the clear",
                advice: "Use an https address: the token lets its holder read the names of your apps.")
        }
    }

    /// The keys that documents are verified with.
    func keys(_ settings: Settings) throws -> TrustedKeys {
        guard let file = settings.text(.trustedKeys, self.trustedKeys) else {
            throw CommandFailure(
                "no trusted keys are given",
                advice:
                    "Save /client/v1/root.json, or /client/v1/jwks.json, of a server that you trust in a file, compare the keys with `pinledger key list` there, and give the file with --trusted-keys.",
                status: .usage)
        }
        return try settings.locating(.trustedKeys) {
            do throws(TrustedKeys.Unusable) { return try TrustedKeys(file: file) } catch {
                throw CommandFailure(error.description, advice: error.advice, status: .usage)
            }
        }
    }
}

/// An upstream before it is asked.
struct UpstreamAddress: Sendable {
    /// At least one.
    let all: [String]
    let tokenFile: String?
    let tls: TLSConfiguration

    /// The upstream, which the caller closes.
    ///
    /// - Parameter onChange: Called with the address that is asked from now on, and with why the one before is not.
    func open(onChange: @escaping @Sendable (_ address: String, _ failure: UpstreamFailure) -> Void) -> Upstream {
        Upstream(
            addresses: self.all, tokenFile: self.tokenFile, tls: self.tls, userAgent: "pinledger/\(Version.text)",
            onChange: onChange)
    }
}
