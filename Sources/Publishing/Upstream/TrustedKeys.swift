import Foundation
import Keys
import NIOCore
package import PinWire
import Synchronization

/// The keys by which a node without the ledger, an edge, verifies documents: those of a JWKS (RFC 7517 section 5) or of a root of trust
/// that came with it, as it does with an app.
///
/// No key is taken from anywhere else, least of all from the upstream whose documents are to be verified: of a root, only successors count
/// that its keys have signed.
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

    /// Roots of trust of which the one in the file is not one.
    package struct OtherRoots: Error, Hashable, Sendable, CustomStringConvertible {
        package let version: Int64
        package var description: String {
            "the root in --trusted-keys, of version \(self.version), is not among them"
        }
    }

    private struct Content {
        var bytes: [UInt8]
        /// The root of trust in the file; nil for a JWKS.
        var root: RootOfTrust?
        var keys: [String: Ed25519PublicKey]
        var body: PreparedBody

        init(bytes: [UInt8], root: RootOfTrust?, _ keys: [JWK]) {
            self.bytes = bytes
            self.root = root
            self.keys = Dictionary(keys.map { ($0.keyID, $0.publicKey) }) { first, _ in first }
            self.body = PreparedBody(JWK.set(keys).canonicalBytes)
        }

        mutating func trust(_ newest: RootOfTrust) {
            self = Content(bytes: self.bytes, root: self.root, Self.keys(of: newest))
        }

        static func keys(of root: RootOfTrust) -> [JWK] {
            root.documentKeys.sorted { $0.key < $1.key }.compactMap { Ed25519PublicKey($0.value).map { JWK($0) } }
        }
    }

    private let file: String
    private let content: Mutex<Content>
    /// The last roots of trust that were followed: what the file's root is replaced by when the file is read again.
    private let followed = Mutex<[RootOfTrust]>([])

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
        var content = try Self.content(bytes, self.file)
        if let newest = try? Self.newest(of: self.followed.withLock { $0 }, after: content.root) {
            content.trust(newest)
        }
        self.content.withLock { $0 = content }
        return true
    }

    /// Trusts the keys of the newest of these roots of trust, where the file has one of them. A JWKS stays what it is.
    ///
    /// - Parameter roots: All of them, in the order of their versions.
    /// - Returns: Whether the keys have changed.
    package func follow(_ roots: [RootOfTrust]) throws(OtherRoots) -> Bool {
        let root = self.content.withLock { $0.root }
        let newest = try Self.newest(of: roots, after: root)
        // An upstream that hides roots takes none back.
        let before = try? Self.newest(of: self.followed.withLock { $0 }, after: root)
        if let root, let before, (newest?.version ?? root.version) < before.version {
            throw OtherRoots(version: root.version)
        }
        self.followed.withLock { $0 = roots }
        guard let newest else { return false }
        return self.content.withLock { content in
            // Not if the file was read again meanwhile: that has looked at them already, or at the ones before.
            guard content.root == root else { return false }
            let before = Set(content.keys.keys)
            content.trust(newest)
            return before != Set(content.keys.keys)
        }
    }

    /// The newest of some roots that lead through `root`; nil where that itself is the newest, or is nil.
    private static func newest(of roots: [RootOfTrust], after root: RootOfTrust?) throws(OtherRoots) -> RootOfTrust? {
        guard let root, !roots.isEmpty else { return nil }
        guard let place = roots.firstIndex(of: root) else { throw OtherRoots(version: root.version) }
        // Up to where a new row begins: those who know the file's root do not follow it there.
        return roots[(place + 1)...].reduce(into: (newest: root, isOver: false)) { state, next in
            guard !state.isOver, let root = try? state.newest.next(next.file) else { return state.isOver = true }
            state.newest = root
        }.newest
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
        if (try? JSON(parsing: bytes))?["signed"] != nil { return try Self.root(bytes, file) }
        guard let json = try? JSON(parsing: bytes), let keys = try? JWK.keys(ofSet: json), !keys.isEmpty else {
            throw Unusable(
                description: "\(file) is neither a root of trust nor a JWKS with Ed25519 public keys",
                advice:
                    "Save the answer of /client/v1/root.json or /client/v1/jwks.json, from a server that you trust, in this file."
            )
        }
        return Content(bytes: bytes, root: nil, keys)
    }

    private static func root(_ bytes: [UInt8], _ file: String) throws(Unusable) -> Content {
        do throws(RootOfTrust.Failure) {
            let root = try RootOfTrust(bytes)
            return Content(bytes: bytes, root: root, Content.keys(of: root))
        } catch {
            throw Unusable(
                description: "\(file) is no root of trust: \(error)",
                advice: "Check the file with `pinledger root check FILE`.")
        }
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
