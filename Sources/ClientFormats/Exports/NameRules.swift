import PinWire
import Pinning

/// The requirements of an app's hosts for one name and those below it, an exact pattern and a wildcard taken together.
struct NameRules {
    /// What holds for the names of one ``NameReach``.
    struct Rule {
        var host: ClientView.Host
        /// Whether its pins can be written; otherwise no other host's may hold for its names either.
        var isPinned: Bool

        /// Whether it has the same effect as `other`, from whichever pattern.
        func isSame(as other: Rule) -> Bool {
            self.isPinned == other.isPinned
                && (!self.isPinned
                    || self.host.mode == other.host.mode
                        && Set(self.host.pins.map(\.pin)) == Set(other.host.pins.map(\.pin)))
        }
    }

    let name: String
    let labels: Int
    private let suffix: String
    private(set) var rules: [NameReach: Rule] = [:]
    /// The parts that an entry stands for, whether with their pins or as an exception.
    var settled: NameReach = []
    /// The parts of ``settled`` that an exception covers.
    var excepted: NameReach = []

    init(_ name: String) {
        self.name = name
        self.suffix = "." + name
        self.labels = name.utf8.count { $0 == UInt8(ascii: ".") } + 1
    }

    /// Takes a pattern of this name. A wildcard takes precedence over an exact pattern, as it does on a device.
    mutating func add(_ rule: Rule) {
        for part in rule.host.reach.elements where rule.host.pattern.isWildcard || self.rules[part] == nil {
            self.rules[part] = rule
        }
    }

    /// The parts that something is said of.
    var parts: NameReach { NameReach(self.rules.keys) }

    /// How many labels this name has before another; nil where it does not lie below it.
    func labels(below other: NameRules) -> Int? {
        self.name.hasSuffix(other.suffix) ? self.labels - other.labels : nil
    }
}

extension NameReach {
    /// The single members that it has, in order.
    var elements: [NameReach] { Self.parts.filter { self.contains($0) } }
}

extension ClientView.Host {
    /// What the pattern stands for, seen from its name without the wildcard.
    var reach: NameReach {
        switch (self.pattern.isWildcard, self.includesSubdomains) {
        case (false, false): .own
        case (false, true): .all
        case (true, false): .below
        case (true, true): [.below, .deeper]
        }
    }
}
