import EventStore
import Pinning

/// What a look through the whole state finds, made again only after the ledger has grown.
struct Survey<Found> {
    private var last: (position: Int64, found: Found)?

    mutating func find(in view: LedgerView, _ look: (LedgerState) -> Found) -> Found {
        if let last, last.position == view.head.position { return last.found }
        let found = look(view.state)
        self.last = (view.head.position, found)
        return found
    }
}
