import TransparencyLog

/// The bytes of hexadecimal text; test data only, so odd or foreign text gives nothing.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}

extension LogHash {
    /// A hash of test data, which is known to be 32 bytes.
    init(hex text: String) {
        self = LogHash(TransparencyLogTests.hex(text)) ?? MerkleTree.emptyRoot
    }
}

/// RFC 6962 section 2.1, word for word: slow, recursive, over the leaf hashes themselves.
enum Reference {
    static func root(_ leaves: ArraySlice<LogHash>) -> LogHash {
        guard leaves.count > 1 else { return leaves.first ?? MerkleTree.emptyRoot }
        let middle = leaves.startIndex + self.split(leaves.count)
        return MerkleTree.nodeHash(self.root(leaves[..<middle]), self.root(leaves[middle...]))
    }

    static func path(_ index: Int, _ leaves: ArraySlice<LogHash>) -> [LogHash] {
        guard leaves.count > 1 else { return [] }
        let count = self.split(leaves.count)
        let middle = leaves.startIndex + count
        return index < count
            ? self.path(index, leaves[..<middle]) + [self.root(leaves[middle...])]
            : self.path(index - count, leaves[middle...]) + [self.root(leaves[..<middle])]
    }

    static func consistency(_ size: Int, _ leaves: ArraySlice<LogHash>, isWhole: Bool = true) -> [LogHash] {
        guard size < leaves.count else { return isWhole ? [] : [self.root(leaves)] }
        let count = self.split(leaves.count)
        let middle = leaves.startIndex + count
        return size <= count
            ? self.consistency(size, leaves[..<middle], isWhole: isWhole) + [self.root(leaves[middle...])]
            : self.consistency(size - count, leaves[middle...], isWhole: false) + [self.root(leaves[..<middle])]
    }

    private static func split(_ count: Int) -> Int {
        var power = 1
        while power * 2 < count { power *= 2 }
        return power
    }
}

/// The eight leaves of Certificate Transparency's own tests.
let classicLeaves = [
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
].map { MerkleTree.leafHash(hex($0)) }

/// The entries of the example log `pins.example.com/audit`.
func auditEntry(_ index: Int) -> [UInt8] {
    let seconds = index % 60 < 10 ? "0\(index % 60)" : "\(index % 60)"
    let text =
        #"{"actor":"admin@example.com","event":"PinActivated","seq":\#(index),"ts":"2026-01-01T00:00:\#(seconds)Z"}"#
    return Array(text.utf8)
}

/// The leaf hashes of the example log.
func auditLeaves(_ count: Int) -> [LogHash] {
    (0..<count).map { MerkleTree.leafHash(auditEntry($0)) }
}
