import PinWire

/// A text with signatures below it (C2SP signed-note), such as a log's checkpoint.
///
/// ```text
/// text, each line ends in a line feed
///
/// — name base64(key ID ‖ signature)
/// ```
package struct SignedNote: Hashable, Sendable {
    /// One line below the text.
    package struct Signature: Hashable, Sendable {
        /// The name of the key, as UTF-8: at most ``SignedNote/maximumNameLength`` bytes, without white space and `+`.
        /// Kept as bytes: texts may count as equal without being the same.
        package let name: [UInt8]
        /// The first 4 bytes of what the line has in base64.
        package let keyID: [UInt8]
        /// The bytes after the key ID; 64 for ``NoteKey/Kind/ed25519``, 72 for ``NoteKey/Kind/cosignature``.
        package let bytes: [UInt8]
    }

    /// Why bytes are not a note, or a note is not to be believed.
    package enum Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// More than ``SignedNote/maximumSize`` bytes.
        case tooLarge(Int)
        /// The text is not UTF-8 in lines, or no empty line separates it from its signatures.
        case malformed
        /// A line below the text is not a signature's, or there are more than ``SignedNote/maximumSignatures``.
        case malformedSignature
        /// A signature of a known key does not fit the text. Then the note is not believed, even with other signatures.
        case wrongSignature(of: String)

        package var description: String {
            switch self {
            case .tooLarge(let count): "the note has \(count) bytes, and at most \(SignedNote.maximumSize) are read"
            case .malformed: "the note is not a text, an empty line and signatures"
            case .malformedSignature: "a line below the note's text is not a signature"
            case .wrongSignature(let name): "the signature of \(name) does not fit the note's text"
            }
        }
    }

    /// A signature of a known key that fits the text.
    package struct Verified: Hashable, Sendable {
        /// The key that signed.
        package let key: NoteKey
        /// When the witness says that it saw the note, in seconds from 1970 on; nil for a log's own signature.
        package let seconds: Int64?
    }

    /// The largest note that is read: room for ``maximumSignatures`` of the size of ML-DSA-44.
    package static let maximumSize = 262_144
    /// The most signatures that are read; C2SP asks for 16 at least.
    package static let maximumSignatures = 64
    /// The largest number of bytes of a key's name.
    package static let maximumNameLength = 255

    /// What is signed: UTF-8, each line ends in a line feed.
    package let text: [UInt8]
    /// The signatures in their order.
    package let signatures: [Signature]

    /// A note of a text that its caller has made, such as ``Checkpoint/text``.
    package init(text: [UInt8], signatures: [Signature]) {
        self.text = text
        self.signatures = signatures
    }

    /// Reads a note. Whether its signatures fit, ``verified(by:)`` says.
    ///
    /// - Throws: ``Invalid``.
    package init(_ bytes: [UInt8]) throws(Invalid) {
        guard bytes.count <= Self.maximumSize else { throw .tooLarge(bytes.count) }
        let lineFeed = UInt8(ascii: "\n")
        // Other control characters could hide text from people.
        guard bytes.last == lineFeed, bytes.allSatisfy({ $0 >= 0x20 || $0 == lineFeed }),
            String(validating: bytes, as: UTF8.self) != nil,
            // The last empty line separates: the text may have others.
            let end = bytes.indices.dropLast().last(where: { bytes[$0] == lineFeed && bytes[$0 + 1] == lineFeed })
        else { throw .malformed }
        self.text = Array(bytes[...end])
        self.signatures = try Self.signatures(in: bytes[(end + 2)...])
    }

    /// Reads signatures without their text, as a witness answers: at least one line, each ends in a line feed.
    ///
    /// - Throws: ``Invalid/malformedSignature``.
    package static func signatures(in bytes: ArraySlice<UInt8>) throws(Invalid) -> [Signature] {
        let lineFeed = UInt8(ascii: "\n")
        guard bytes.last == lineFeed else { throw .malformedSignature }
        var signatures: [Signature] = []
        for line in bytes.dropLast().split(separator: lineFeed, omittingEmptySubsequences: false) {
            guard signatures.count < Self.maximumSignatures, let signature = Signature(line: line) else {
                throw .malformedSignature
            }
            signatures.append(signature)
        }
        return signatures
    }

    /// The note with one more signature, the last.
    package func adding(_ signature: Signature) -> SignedNote {
        SignedNote(text: self.text, signatures: self.signatures + [signature])
    }

    /// The first signature of a key, which need not fit; nil where there is none.
    package func signature(of key: NoteKey) -> Signature? {
        let name = Array(key.name.text.utf8)
        return self.signatures.first { $0.keyID == key.id && $0.name == name }
    }

    /// The note as it is served: the very bytes that ``init(_:)`` read.
    package var encoded: [UInt8] {
        self.text + [UInt8(ascii: "\n")] + self.signatures.flatMap(\.line)
    }

    /// The signatures of `known` keys, in the order of the keys.
    ///
    /// A key counts once, however often it is known or signs, and under whatever name, so that a quorum of witnesses is a
    /// quorum of keys. Signatures of other keys are ignored, so that keys can be added.
    ///
    /// - Throws: ``Invalid/wrongSignature(of:)`` where one of a known key does not fit.
    package func verified(by known: [NoteKey]) throws(Invalid) -> [Verified] {
        var verified: [Verified] = []
        var counted: Set<Ed25519PublicKey> = []
        for key in known {
            // The first of a key decides: others of it would cost a verification each.
            guard let signature = self.signature(of: key) else { continue }
            guard let fitting = key.verify(signature.bytes, over: self.text) else {
                throw .wrongSignature(of: key.name.text)
            }
            if counted.insert(key.publicKey).inserted { verified.append(fitting) }
        }
        return verified
    }
}

extension SignedNote.Signature {
    /// U+2014 and a space.
    private static let dash: [UInt8] = [0xE2, 0x80, 0x94, 0x20]

    /// A key's signature.
    init(by key: NoteKey, bytes: [UInt8]) {
        self.init(name: Array(key.name.text.utf8), keyID: key.id, bytes: bytes)
    }

    /// Reads a line without its line feed; nil unless it is exactly what ``line`` writes.
    fileprivate init?(line: ArraySlice<UInt8>) {
        guard line.starts(with: Self.dash) else { return nil }
        let parts = line.dropFirst(Self.dash.count).split(
            separator: 0x20, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, (1...SignedNote.maximumNameLength).contains(parts[0].count),
            let name = String(streamSafe: parts[0]),
            name.unicodeScalars.allSatisfy({ $0 != "+" && !$0.properties.isWhitespace }),
            let bytes = Base64.decode(bytes: parts[1]), bytes.count > 4
        else { return nil }
        self.init(name: Array(parts[0]), keyID: Array(bytes.prefix(4)), bytes: Array(bytes.dropFirst(4)))
    }

    /// The line with its line feed.
    fileprivate var line: [UInt8] {
        Self.dash + self.name + Array(" \(Base64.encode(self.keyID + self.bytes))\n".utf8)
    }
}
