package import PinWire
package import TransparencyLog

/// The result of an audit that a later audit compares the ledger with. Kept outside the database, it shows a history
/// that was cut off or rewritten, which nothing inside the database can.
package struct AuditReport: Hashable, Sendable {
    /// The number of events.
    package var position: Int64
    /// The Merkle tree's root over them.
    package var root: LogHash
    /// The number of the epoch; nil where the report does not say.
    package var epoch: Int64?
    /// The version of each stored document.
    package var documents: [String: Int64]

    package init(position: Int64, root: LogHash, epoch: Int64? = nil, documents: [String: Int64]) {
        self.epoch = epoch
        self.position = position
        self.root = root
        self.documents = documents
    }

    /// Reads the JSON that `pinledger fsck --output json` wrote; other members are ignored.
    package init(_ json: JSON) throws(JSONDefect) {
        guard let position = json["position"]?.integerValue, position >= 0,
            let root = json["root"]?.stringValue.flatMap({ Hex.decode($0) }).flatMap({ LogHash($0) })
        else {
            throw JSONDefect(pointer: JSONPointer(), message: "is not the report of an audit that came to its end")
        }
        self.position = position
        self.root = root
        self.epoch = json["epoch"]?.integerValue
        self.documents = (json["documents"]?.objectValue ?? [:]).compactMapValues(\.integerValue)
    }
}
