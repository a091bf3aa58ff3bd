import Edge
import Foundation
import NIOSSL
import PinWire
import Publishing

/// An upstream before it is asked.
struct UpstreamAddress: Sendable {
    /// At least one.
    let all: [String]
    let tokenFile: String?
    let tls: TLSConfiguration

    /// - Throws: ``CommandFailure`` where the settings name no upstream, or one that cannot be used.
    init(_ settings: Settings) throws {
        self.all = settings.list(.upstream)
        guard !self.all.isEmpty else {
            throw CommandFailure(
                "no upstream is given", advice: "Give --upstream, such as --upstream https://pins.example.com.",
                status: .usage)
        }
        self.tokenFile = settings.text(.upstreamTokenFile)
        for address in self.all { try Self.check(address, settings, sendsToken: self.tokenFile != nil) }
        let authorities = settings.text(.upstreamCAFile)
        let trust: ServerTrust = authorities.map { .authorities(file: $0) } ?? .system
        self.tls = try settings.locating(.upstreamCAFile, trust.configuration)
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

    /// The upstream, which the caller closes.
    ///
    /// - Parameter onChange: Called with the address that is asked from now on, and with why the one before is not.
    func open(onChange: @escaping @Sendable (_ address: String, _ failure: UpstreamFailure) -> Void) -> Upstream {
        Upstream(
            addresses: self.all, tokenFile: self.tokenFile, tls: self.tls, userAgent: "pinledger/\(Version.text)",
            onChange: onChange)
    }
}
