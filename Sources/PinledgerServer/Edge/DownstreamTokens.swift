import Foundation
import Hummingbird
import Keys
import NIOCore
import PinWire
import Pinning
import Synchronization

/// The tokens of those who may follow all documents of an edge: other edges, whose upstream it is. An edge knows no other callers.
///
/// They stand in a file, one a line. Only their digests are kept.
package final class DownstreamTokens: CallerAuthenticator {
    /// Why the file cannot be used, as a sentence, and what to do about it.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
        package let advice: String?
    }

    private let file: String?
    private let digests: Mutex<Set<[UInt8]>>

    /// The fewest characters of a token: 128 bits in base64, and more.
    private static let shortest = 22

    /// Reads the file.
    ///
    /// - Parameter file: Nil where nobody may follow.
    package init(file: String?) throws(Unusable) {
        self.file = file
        self.digests = Mutex(try file.map(Self.read) ?? [])
    }

    /// Reads the file again. Not for an event loop.
    ///
    /// - Returns: Whether it has other tokens, or in any case true with `isForced`.
    package func reload(isForced: Bool) throws(Unusable) -> Bool {
        guard let file else { return false }
        let digests = try Self.read(file)
        return self.digests.withLock { present in
            defer { present = digests }
            return isForced || present != digests
        }
    }

    private static func read(_ file: String) throws(Unusable) -> Set<[UInt8]> {
        let bytes: [UInt8]
        do { bytes = try PrivateFile.read(file) } catch {
            let (message, advice) = error.text("the downstream tokens", file)
            throw Unusable(description: message, advice: advice)
        }
        var digests: Set<[UInt8]> = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let text = String(ascii: line)?.trimmingCharacters() else {
                throw Unusable(description: "\(file) has a line that is not ASCII", advice: nil)
            }
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            guard text.utf8.count >= Self.shortest, !text.contains(" ") else {
                throw Unusable(
                    description: "\(file) has a token of fewer than \(Self.shortest) characters, or with a space",
                    advice: "Make one with: openssl rand -base64 32")
            }
            digests.insert(sha256(text.utf8))
        }
        return digests
    }

    func caller(
        of request: Request, from peer: SocketAddress?, acceptsPassword: Bool, acceptsCookie: Bool
    ) throws(Problem) -> Caller {
        guard let header = request.headers[.authorization] else {
            throw Problem(.tokenMissing, "The request has no token.")
        }
        let text = try Authenticator.token(in: header, acceptsPassword: false)
        // By digest: how long the look-up takes tells nothing of a token.
        let digest = sha256(text.utf8)
        guard self.digests.withLock({ $0.contains(digest) }) else {
            throw Problem(.tokenInvalid, "This edge does not know the token.")
        }
        // The digest of so many random bits gives nothing away; no answer or line of the log shows it.
        return Caller(
            actor: Actor(kind: .token, id: Hex.encode(digest), name: "another edge"), rights: .everything)
    }

    /// What a caller may do now: everything that there is at an edge, or nothing where its token is no longer in the file.
    func rights(of actor: Actor?) -> Rights {
        guard let actor, let digest = Hex.decode(actor.id) else { return .nothing }
        return self.digests.withLock { $0.contains(digest) } ? .everything : .nothing
    }
}
