import ArgumentParser

/// The flag of a start that believes the database.
struct TrustOption: ParsableArguments {
    @Flag(
        help:
            "Take the database's ledger for the right one although this node remembers none, or nothing authenticates its end. For one start, and refused while another node is halted."
    )
    var trustDatabase = false
}
