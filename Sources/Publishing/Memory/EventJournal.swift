import PinWire
package import TransparencyLog

/// The last events of the ledger, as a node keeps them outside the database. After a loss it shows what was lost.
///
/// Text: a line of canonical JSON with the number of events before the first one and the right edge of the Merkle tree over
/// them, then one line for each event, its entry as it is hashed. Lines are only appended, so the last one may be cut off.
/// The file authenticates nothing by itself: the node's ``NodeMemory`` does, with the tree's root at the journal's end.
package struct EventJournal: Sendable {
    /// Why a journal cannot be used.
    package enum Defect: Error, Hashable, Sendable, CustomStringConvertible {
        case malformed(String)
        /// The events are not those that the memory is of.
        case notRemembered
        /// It ends before the end that the memory states.
        case short(Int64)

        package var description: String {
            switch self {
            case .malformed(let why): "it is not a journal of events: \(why)"
            case .notRemembered: "its events are not those of the memory beside it"
            case .short(let position): "it ends after \(position) events, before the end that the memory states"
            }
        }
    }

    /// The right edge of the tree before the first event.
    package var start: MerkleFrontier
    /// The entries' bytes.
    package var entries: [[UInt8]]

    package init(start: MerkleFrontier, entries: [[UInt8]] = []) {
        self.start = start
        self.entries = entries
    }

    /// The first line of a journal, with its line feed.
    static func header(_ start: MerkleFrontier) -> [UInt8] {
        let json: JSON = [
            "form": 1, "frontier": .string(Base64.encode(start.encoded)), "position": .integer(Int64(start.size)),
        ]
        return json.canonicalBytes + [UInt8(ascii: "\n")]
    }

    var bytes: [UInt8] {
        self.entries.reduce(into: Self.header(self.start)) { bytes, entry in
            bytes += entry
            bytes.append(UInt8(ascii: "\n"))
        }
    }

    /// Reads a journal's bytes. A last line that is cut off is left out.
    init(bytes: [UInt8]) throws(Defect) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        lines.removeLast()
        guard let first = lines.first else { throw .malformed("it has no line") }
        do throws(JSONDefect) {
            let json: JSON
            do { json = try JSON(parsing: first) } catch {
                throw JSONDefect(pointer: JSONPointer(), message: error.description)
            }
            self.start = try JSONField(json).object { (header) throws(JSONDefect) in
                _ = try header.required("form").integer(1...1)
                let size = try header.required("position").integer(0...JSON.largestInteger)
                let field = try header.required("frontier")
                guard let encoded = Base64.decode(try field.string()),
                    let start = try? MerkleFrontier(size: UInt64(size), encoded: encoded)
                else { throw field.defect("must be the right edge of a tree, in base64") }
                return start
            }
        } catch { throw .malformed(error.description) }
        self.entries = lines.dropFirst().map(Array.init)
    }

    /// The events up to the end that a memory states, verified by the tree's root there.
    func verified(upTo end: NodeMemory.JournalEnd) throws(Defect) -> EventJournal {
        let count = end.position - Int64(self.start.size)
        guard count >= 0 else { throw .notRemembered }
        guard count <= self.entries.count else { throw .short(Int64(self.start.size) + Int64(self.entries.count)) }
        let kept = EventJournal(start: self.start, entries: Array(self.entries.prefix(Int(count))))
        guard kept.end.root == end.root else { throw .notRemembered }
        return kept
    }

    /// The right edge of the tree behind the last event.
    package var end: MerkleFrontier {
        var frontier = self.start
        for entry in self.entries { frontier.append(leaf: MerkleTree.leafHash(entry)) }
        return frontier
    }

    /// The journal without the older half of its bytes.
    var halved: EventJournal {
        var (start, rest) = (self.start, self.entries.reduce(0) { $0 + $1.count } / 2)
        let older = self.entries.prefix { entry in
            rest -= entry.count
            return rest >= 0
        }
        for entry in older { start.append(leaf: MerkleTree.leafHash(entry)) }
        return EventJournal(start: start, entries: Array(self.entries.dropFirst(older.count)))
    }
}
