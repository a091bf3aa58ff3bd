import PinWire

/// What to load, as the command line says it.
struct LoadOptions {
    var database = ""
    /// The file with the key-encryption key that authenticates batches; nil where nodes have none.
    var kekFile: String?
    var events: Int64 = 1_000_000
    var apps = 10_000
    var hosts = 5
    var pins = 3
    var batch = 1000
    var seed: UInt64 = 1
    var start = Timestamp(seconds: 1_735_689_600)

    static let usage = """
        usage: LedgerLoad --database CONNINFO [--kek-file FILE] [--events 1000000] [--apps 10000] [--hosts 5] [--pins 3] [--batch 1000]
                          [--seed 1] [--start 2025-01-01T00:00:00Z]
        """

    /// Nil for what cannot be understood.
    init?(_ arguments: some Sequence<String>) {
        var iterator = arguments.makeIterator()
        while let name = iterator.next() {
            guard let value = iterator.next() else { return nil }
            func number(_ range: ClosedRange<Int>) -> Int? {
                Int(value).flatMap { range.contains($0) ? $0 : nil }
            }
            switch name {
            case "--database": self.database = value
            case "--kek-file": self.kekFile = value
            case "--events":
                guard let events = number(1...1_000_000_000) else { return nil }
                self.events = Int64(events)
            case "--apps":
                guard let apps = number(1...1_000_000) else { return nil }
                self.apps = apps
            case "--hosts":
                guard let hosts = number(1...500) else { return nil }
                self.hosts = hosts
            case "--pins":
                guard let pins = number(2...50) else { return nil }
                self.pins = pins
            case "--batch":
                guard let batch = number(1...10_000) else { return nil }
                self.batch = batch
            case "--seed":
                guard let seed = UInt64(value) else { return nil }
                self.seed = seed
            case "--start":
                guard let start = Timestamp(rfc3339: value) else { return nil }
                self.start = start
            default: return nil
            }
        }
        guard !self.database.isEmpty else { return nil }
    }
}
