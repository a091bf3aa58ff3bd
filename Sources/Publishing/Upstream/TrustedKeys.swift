import Foundation
import Keys
import NIOCore
package import PinWire
import Synchronization

/// The keys by which a node without the ledger, an edge, verifies documents: those of a JWKS (RFC 7517 section 5) that came with it,
/// as it does with an app.
///
/// No key is taken from anywhere else, least of all from the upstream whose documents are to be verified.
package final class TrustedKeys: Sendable {
    /// Why a file cannot be used, as a sentence, and what to do about it.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
        package let advice: String?
    }

    /// Why a text is not served as an app's document.
    package enum Unverified: Error, Hashable, Sendable, CustomStringConvertible {
        /// It is no document in compact serialisation, or not in the form that documents have.
        case malformed
        /// No trusted key has this id.
        case unknownKey(String)
        case wrongSignature
        /// It is a document of another app.
        case otherApp

        /// A word for monitoring systems.
        package var cause: String {
            switch self {
            case .malformed: "malformed"
            case .unknownKey: "unknown_key"
            case .wrongSignature: "wrong_signature"
            case .otherApp: "other_app"
            }
        }

        package static let causes = ["malformed", "unknown_key", "wrong_signature", "other_app"]

        package var description: String {
            switch self {
            case .malformed: "it is no signed document"
            case .unknownKey(let id): "the key \(id) that signed it is not among the trusted ones"
            case .wrongSignature: "its signature is wrong"
            case .otherApp: "it is the document of another app"
            }
        }
    }

    private struct Content {
        var bytes: [UInt8]
        var keys: [String: Ed25519PublicKey]
        var body: PreparedBody
    }

    private let file: String
    private let content: Mutex<Content>

    /// The most bytes of a file: some thousand keys.
    private static let limit = 1 << 20

    /// Reads the file. Not for an event loop.
    package init(file: String) throws(Unusable) {
        self.file = file
        self.content = Mutex(try Self.content(try Self.read(file), file))
    }

    /// Reads the file again if it has changed, or in any case with `isForced`. What is unusable leaves the earlier keys in place.
    ///
    /// - Returns: Whether there are new keys.
    package func reload(isForced: Bool) throws(Unusable) -> Bool {
        let bytes = try Self.read(self.file)
        guard isForced || self.content.withLock({ $0.bytes != bytes }) else { return false }
        let content = try Self.content(bytes, self.file)
        self.content.withLock { $0 = content }
        return true
    }

    private static func read(_ file: String) throws(Unusable) -> [UInt8] {
        guard let handle = FileHandle(forReadingAtPath: file) else {
            throw Unusable(
                description: "the trusted keys cannot be read from \(file)",
                advice: "Name a JWKS with the keys that sign documents, such as the one that apps ship.")
        }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: Self.limit + 1) else {
            throw Unusable(description: "the trusted keys cannot be read from \(file)", advice: nil)
        }
        guard data.count <= Self.limit else {
            throw Unusable(description: "\(file) has more than \(Self.limit) bytes", advice: nil)
        }
        return Array(data)
    }

    private static func content(_ bytes: [UInt8], _ file: String) throws(Unusable) -> Content {
        guard let json = try? JSON(parsing: bytes), let keys = try? JWK.keys(ofSet: json), !keys.isEmpty else {
            throw Unusable(
                description: "\(file) is no JWKS with Ed25519 public keys",
                advice: "Save the answer of /client/v1/jwks.json, from a server that you trust, in this file.")
        }
        return Content(
            bytes: bytes, keys: Dictionary(keys.map { ($0.keyID, $0.publicKey) }) { first, _ in first },
            body: PreparedBody(JWK.set(keys).canonicalBytes))
    }

    /// The key set in its canonical form.
    package var body: PreparedBody { self.content.withLock { $0.body } }

    /// The ids of the keys.
    package var ids: Set<String> { self.content.withLock { Set($0.keys.keys) } }

    /// The document that `bytes` are, if a trusted key has signed it.
    ///
    /// - Parameter app: The app that it is to be of; nil for any.
    package func verify(_ bytes: [UInt8], of app: AppID?) throws(Unverified) -> PublishedDocument {
        guard bytes.count <= CompactJWS.maximumSize, let text = String(ascii: bytes) else { throw .malformed }
        let (jws, payload) = try self.open(text)
        // One that was decided for a single device has another type already.
        guard let issued = try? DocumentEnvelope(anyForm: payload), !issued.isEvaluated else { throw .malformed }
        guard app == nil || issued.app == app else { throw .otherApp }
        // Its position in the ledger is not in it.
        return PublishedDocument(
            app: issued.app, version: issued.version, position: 0, contentDigest: issued.contentDigest,
            issuedAt: issued.issuedAt, expiresAt: issued.expiresAt, keyID: jws.keyID,
            body: PreparedBody(bytes, tagPrefix: DocumentTag.prefix(version: issued.version)))
    }

    private func open(_ text: String) throws(Unverified) -> (CompactJWS, payload: [UInt8]) {
        do throws(CompactJWS.Invalid) {
            let jws = try CompactJWS(parsing: text, type: Publisher.documentType)
            guard let key = self.content.withLock({ $0.keys[jws.keyID] }) else {
                throw .unknownKey(keyID: jws.keyID)
            }
            return (jws, try jws.verify(with: key))
        } catch {
            switch error {
            // A stranger's text: it is shown in the log.
            case .unknownKey(let id): throw .unknownKey(String(shown: id.utf8))
            case .wrongSignature: throw .wrongSignature
            default: throw .malformed
            }
        }
    }
}
