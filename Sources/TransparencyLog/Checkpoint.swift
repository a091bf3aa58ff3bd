package import PinWire

/// A log's statement of its size and root (C2SP tlog-checkpoint): the text of a note that the log signs.
///
/// ```text
/// pins.example.com/log
/// 70000
/// v9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=
/// ```
package struct Checkpoint: Hashable, Sendable {
    /// The name of the log.
    package let origin: LogName
    /// The number of leaves.
    package let size: UInt64
    /// The root of the tree of so many leaves.
    package let root: LogHash

    /// The largest text that is read.
    package static let maximumSize = 16_384

    /// States a tree.
    package init(origin: LogName, size: UInt64, root: LogHash) {
        self.origin = origin
        self.size = size
        self.root = root
    }

    /// The text that is signed: three lines, each ends in a line feed.
    package var text: [UInt8] {
        Array("\(self.origin)\n\(self.size)\n\(Base64.encode(self.root.bytes))\n".utf8)
    }

    /// Reads the text of a note. Lines after the third are extensions, which this type does not keep: what is signed is
    /// the note's text.
    ///
    /// - Throws: ``LogError/malformedCheckpoint`` for more than ``maximumSize`` bytes, fewer lines, an empty one, an
    ///   origin that is not a ``LogName``, a size that is not a number or has a leading zero, or a root that is not
    ///   base64 of 32 bytes, or not that of the empty tree where the size is 0; ``LogError/treeTooLarge(size:)``.
    package init(text: [UInt8]) throws(LogError) {
        let lineFeed = UInt8(ascii: "\n")
        guard text.count <= Self.maximumSize, text.last == lineFeed else { throw .malformedCheckpoint }
        let lines = text.dropLast().split(separator: lineFeed, maxSplits: 3, omittingEmptySubsequences: false)
        guard lines.count >= 3, !Self.hasEmptyLine(lines.count > 3 ? lines[3] : nil),
            let origin = LogName(lines[0]), let size = DecimalNumber.read(lines[1]),
            let root = Base64.decode(bytes: lines[2]).flatMap({ LogHash($0) }),
            size > 0 || root == MerkleTree.emptyRoot
        else { throw .malformedCheckpoint }
        guard size <= MerkleTree.maximumSize else { throw .treeTooLarge(size: size) }
        self.init(origin: origin, size: size, root: root)
    }

    private static func hasEmptyLine(_ extensions: ArraySlice<UInt8>?) -> Bool {
        guard let extensions else { return false }
        let lineFeed = UInt8(ascii: "\n")
        return extensions.isEmpty || extensions.first == lineFeed || extensions.last == lineFeed
            || zip(extensions, extensions.dropFirst()).contains { $0 == lineFeed && $1 == lineFeed }
    }
}

/// Numbers as the log's formats write them: decimal digits, no sign, no leading zero.
enum DecimalNumber {
    /// The number, or nil for any other text.
    static func read(_ text: ArraySlice<UInt8>) -> UInt64? {
        guard (1...20).contains(text.count), text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            text.count == 1 || text.first != UInt8(ascii: "0")
        else { return nil }
        return String(ascii: text).flatMap(UInt64.init)
    }
}
