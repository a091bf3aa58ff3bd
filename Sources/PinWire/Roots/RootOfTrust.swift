/// The root of trust: a signed list of the keys that may sign documents, which the next one can replace without an app release.
///
/// An app ships with one. Its successors come from anywhere: each is signed by enough keys of the one before, and by enough of its own
/// (TUF specification 1.0.34, section 5.3). The keys of roots stay offline, so a thief of a key that signs documents can make none.
public struct RootOfTrust: Hashable, Sendable {
    /// Why bytes do not replace a root. The raw values are stable: conformance vectors carry them.
    public enum Failure: String, Error, CaseIterable, Hashable, Sendable, CustomStringConvertible {
        /// More than 16 KiB; nothing was parsed.
        case tooLarge = "too_large"
        /// Not canonical JSON in printable ASCII, or not in the form of a root.
        case malformedRoot = "malformed_root"
        /// Another version than the one after the present root's.
        case otherVersion = "other_version"
        /// Too few keys of the root before it have signed it, or too few of its own.
        case missingSignatures = "missing_signatures"

        public var description: String {
            switch self {
            case .tooLarge: "the root has more than \(RootOfTrust.byteLimit) bytes"
            case .malformedRoot: "the root is malformed"
            case .otherVersion: "the root's version is not the next one"
            case .missingSignatures: "the root is not signed by enough keys of the root before it and of its own"
            }
        }
    }

    /// The most bytes of a root: 16 KiB.
    public static let byteLimit = 16 << 10
    /// The end of the names under which TUF clients look for roots (TUF specification 1.0.34, section 5.3.3).
    package static let fileSuffix = ".root.json"

    package let file: SignedRoot

    /// A root whose signatures were counted.
    private init(counted file: SignedRoot) { self.file = file }

    /// Reads the root that an app trusts from the start: it has to be signed by its own keys.
    public init(_ bytes: [UInt8]) throws(Failure) {
        try self.init(signed: try Self.read(bytes))
    }

    /// The first root of a row: its version is 1.
    package init(first file: SignedRoot) throws(Failure) {
        guard file.metadata.version == 1 else { throw .otherVersion }
        try self.init(signed: file)
    }

    /// A root that begins a new row after another one, whose keys are lost: signed by its own keys alone. Only apps that ship it take it.
    package init(restarting file: SignedRoot, after root: RootOfTrust) throws(Failure) {
        guard file.metadata.version - 1 == root.version else { throw .otherVersion }
        try self.init(signed: file)
    }

    private init(signed file: SignedRoot) throws(Failure) {
        guard file.isSigned(by: file.metadata.root) else { throw .missingSignatures }
        self.init(counted: file)
    }

    /// The root that replaces this one, if `bytes` are it.
    ///
    /// When either of them ends does not matter here: a root that has ended still names its successor.
    public func next(_ bytes: [UInt8]) throws(Failure) -> RootOfTrust {
        let file = try Self.read(bytes)
        try self.check(file)
        return RootOfTrust(counted: file)
    }

    /// The root that replaces this one, if `file` is it.
    package func next(_ file: SignedRoot) throws(Failure) -> RootOfTrust {
        try self.check(file)
        return RootOfTrust(counted: file)
    }

    private func check(_ file: SignedRoot) throws(Failure) {
        guard file.metadata.version - 1 == self.version else { throw .otherVersion }
        guard file.isSigned(by: self.file.metadata.root), file.isSigned(by: file.metadata.root) else {
            throw .missingSignatures
        }
    }

    private static func read(_ bytes: [UInt8]) throws(Failure) -> SignedRoot {
        guard bytes.count <= Self.byteLimit else { throw .tooLarge }
        do { return try SignedRoot(bytes) } catch { throw .malformedRoot }
    }

    /// Canonical JSON (RFC 8785).
    public var bytes: [UInt8] { self.file.bytes }
    public var version: Int64 { self.file.metadata.version }
    /// From then on, no further document is accepted until the next root is there.
    public var expiresAt: Timestamp { self.file.metadata.expiresAt }
    /// The Ed25519 keys that may sign documents, 32 bytes each, by their `kid` (RFC 7638).
    public var documentKeys: [String: [UInt8]] {
        Dictionary(
            self.file.metadata.documents.keys.values.map { (Self.thumbprint($0), $0) },
            uniquingKeysWith: { first, _ in first })
    }

    /// RFC 7638 section 3, for an Ed25519 key (RFC 8037 appendix A.3).
    package static func thumbprint(_ publicKey: [UInt8]) -> String {
        let x = Base64URL.encode(publicKey)
        return Base64URL.encode(sha256(Array(#"{"crv":"Ed25519","kty":"OKP","x":"\#(x)"}"#.utf8)))
    }
}
