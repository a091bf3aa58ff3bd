import PinWire

/// A proof that an entry is in a log, in one file that is verified offline (C2SP tlog-proof).
///
/// ```text
/// c2sp.org/tlog-proof@v1
/// extra <base64>
/// index 5
/// <base64 of a hash>, one line each, from the leaf upwards
///
/// <the signed checkpoint>
/// ```
package struct LogProof: Hashable, Sendable {
    /// Data of the application that the proof comes with, not covered by it: here, the entry itself; nil for none.
    package let extra: [UInt8]?
    /// The entry's index.
    package let index: UInt64
    /// The inclusion proof's hashes, from the leaf upwards: at most 63.
    package let hashes: [LogHash]
    /// The signed note of the checkpoint, as it was served.
    package let checkpoint: [UInt8]

    /// The largest proof that is read: an entry in base64, 63 hashes and a note.
    package static let maximumSize = 384 * 1024

    /// Puts a proof together.
    package init(extra: [UInt8]?, index: UInt64, hashes: [LogHash], checkpoint: [UInt8]) {
        self.extra = extra
        self.index = index
        self.hashes = hashes
        self.checkpoint = checkpoint
    }

    /// The file's bytes.
    package var encoded: [UInt8] {
        var head = "c2sp.org/tlog-proof@v1\n"
        if let extra { head += "extra \(Base64.encode(extra))\n" }
        head += "index \(self.index)\n"
        for hash in self.hashes { head += Base64.encode(hash.bytes) + "\n" }
        return Array("\(head)\n".utf8) + self.checkpoint
    }

    /// Reads a file. Whether it proves anything, ``verify(leaf:against:)`` says, and the checkpoint's signatures.
    ///
    /// - Throws: ``LogError/malformedProof``.
    package init(_ bytes: [UInt8]) throws(LogError) {
        guard bytes.count <= Self.maximumSize else { throw .malformedProof }
        let lineFeed = UInt8(ascii: "\n")
        // The first empty line separates: a checkpoint's own comes later.
        guard let end = bytes.indices.dropLast().first(where: { bytes[$0] == lineFeed && bytes[$0 + 1] == lineFeed })
        else { throw .malformedProof }
        var lines = bytes[..<end].split(separator: lineFeed, omittingEmptySubsequences: false)[...]
        guard lines.popFirst()?.elementsEqual("c2sp.org/tlog-proof@v1".utf8) == true else { throw .malformedProof }
        var extra: [UInt8]?
        if let line = lines.first, line.starts(with: "extra ".utf8) {
            lines.removeFirst()
            guard let bytes = Base64.decode(bytes: line.dropFirst(6)) else {
                throw .malformedProof
            }
            extra = bytes
        }
        guard let line = lines.popFirst(), line.starts(with: "index ".utf8),
            let index = DecimalNumber.read(line.dropFirst(6)), lines.count <= 63
        else { throw .malformedProof }
        var hashes: [LogHash] = []
        for line in lines {
            guard let hash = Base64.decode(bytes: line).flatMap({ LogHash($0) }) else {
                throw .malformedProof
            }
            hashes.append(hash)
        }
        self.init(extra: extra, index: index, hashes: hashes, checkpoint: Array(bytes[(end + 2)...]))
    }

    /// Verifies that the tree which `checkpoint` states has this leaf at the proof's index. `LogTrust` verifies all of a
    /// file: this function believes that `checkpoint` is what the proof's note says, and who signed it.
    ///
    /// - Throws: ``LogError``.
    package func verify(leaf: LogHash, against checkpoint: Checkpoint) throws(LogError) {
        try InclusionProof(leafIndex: self.index, treeSize: checkpoint.size, hashes: self.hashes)
            .verify(leaf: leaf, root: checkpoint.root)
    }
}
