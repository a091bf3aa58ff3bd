import PinWire

/// What a log sends a witness to have a checkpoint cosigned: the body of C2SP tlog-witness's `add-checkpoint`.
///
/// ```text
/// old 20852014
/// <base64 of a hash>, one line each: the consistency proof from the old size
///
/// <the signed checkpoint>
/// ```
package struct CheckpointSubmission: Hashable, Sendable {
    /// The size of the checkpoint that the witness cosigned last, as far as the log knows; 0 for none.
    package let oldSize: UInt64
    /// The proof that the tree extends the one of ``oldSize``: at most 63 hashes, none where one of the trees is empty or
    /// both are the same.
    package let hashes: [LogHash]
    /// The signed note of the checkpoint.
    package let checkpoint: [UInt8]

    /// Puts a submission together.
    package init(oldSize: UInt64, hashes: [LogHash], checkpoint: [UInt8]) {
        self.oldSize = oldSize
        self.hashes = hashes
        self.checkpoint = checkpoint
    }

    /// The body's bytes.
    package var encoded: [UInt8] {
        let proof = self.hashes.map { "\(Base64.encode($0.bytes))\n" }.joined()
        return Array("old \(self.oldSize)\n\(proof)\n".utf8) + self.checkpoint
    }

    /// The size that a witness says it cosigned last, in an answer with the status 409: decimal digits and a line feed; nil
    /// for any other text.
    package static func size(in body: [UInt8]) -> UInt64? {
        guard body.last == UInt8(ascii: "\n") else { return nil }
        return DecimalNumber.read(body.dropLast())
    }
}
