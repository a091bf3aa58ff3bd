internal import PinWire

/// What a client's store keeps: the roots of trust after the one that ships with the app, oldest first, and the document.
///
/// A line for each root, and then the document without a line's end. Without roots it is the document, byte for byte.
struct StoredState: Hashable {
    /// Bytes that claim to be roots.
    var roots: [[UInt8]]
    /// Bytes that claim to be a document; nil for none.
    var document: [UInt8]?

    /// The most roots after the one that ships with the app: no more are taken over, because each of them is needed to verify the next.
    static let rootLimit = 256
    static let byteLimit = DocumentVerifier.byteLimit + Self.rootLimit * (RootOfTrust.byteLimit + 1)

    init(roots: [RootOfTrust], document: VerifiedDocument?) {
        self.roots = roots.map(\.bytes)
        self.document = document?.bytes
    }

    init(_ bytes: [UInt8]) {
        let lines = bytes.split(
            separator: UInt8(ascii: "\n"), maxSplits: Self.rootLimit, omittingEmptySubsequences: false)
        self.roots = lines.dropLast().map(Array.init)
        let last = lines.last ?? []
        self.document = last.isEmpty ? nil : Array(last)
    }

    /// Whether the bytes have the form of a state. What a document claims, its verification tells.
    var isWellFormed: Bool {
        self.roots.allSatisfy { $0.starts(with: Array("{\"signatures\":".utf8)) }
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for root in self.roots { bytes += root + [UInt8(ascii: "\n")] }
        return bytes + (self.document ?? [])
    }
}
