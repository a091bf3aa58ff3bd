import PinWire
import Pinning

/// The entries by which a format comes closest to what an app's hosts require, and what they do not reach.
///
/// No entry pins a name to keys that are not its own: where a format can only say more than is required, less is
/// written, and the difference is noted.
struct ExportPlan {
    /// One entry of a file.
    struct Entry {
        var name: String
        var reach: NameReach
        /// The host whose pins hold; nil for an exception, to which nobody's do.
        var host: ClientView.Host?
    }

    /// By name; of one name the narrowest first.
    private(set) var entries: [Entry] = []
    private(set) var notes: [String] = []

    private let rules: NameMatching
    private let title: String
    /// Names with the most labels first, so that the names below a name are settled before it.
    private var names: [NameRules] = []
    /// The reasons why entries do not reach further, by the name of the entry.
    private var obstacles: [String: String] = [:]

    init(_ hosts: ExportHosts, _ rules: NameMatching, title: String) {
        self.rules = rules
        self.title = title
        var byName: [String: NameRules] = [:]
        for (hosts, isPinned) in [(hosts.kept, true), (hosts.leftOut, false)] {
            for host in hosts {
                byName[host.pattern.name, default: NameRules(host.pattern.name)]
                    .add(NameRules.Rule(host: host, isPinned: isPinned))
            }
        }
        self.names = byName.values.sorted { ($1.labels, $0.name) < ($0.labels, $1.name) }
        for place in self.names.indices { self.settle(place) }
        self.entries.sort { ($0.name, $0.reach.rawValue) < ($1.name, $1.reach.rawValue) }
        for names in self.names.sorted(by: { $0.name < $1.name }) { self.noteRest(of: names) }
    }

    /// Finds entries for one name.
    private mutating func settle(_ place: Int) {
        for reach in self.rules.reaches {
            let names = self.names[place]
            // An exception may be there already, and another entry may reach as far.
            guard names.settled.isDisjoint(with: reach), self.rules.isRepeatable || names.settled.isEmpty,
                let first = reach.elements.first, let rule = names.rules[first], rule.isPinned,
                reach.elements.allSatisfy({ names.rules[$0]?.isSame(as: rule) == true })
            else { continue }
            var exceptions: [(place: Int, reach: NameReach)] = []
            var inherited: [(place: Int, parts: NameReach)] = []
            guard self.examine(below: place, reach, rule, &exceptions, &inherited) else { continue }
            self.entries.append(Entry(name: names.name, reach: reach, host: rule.host))
            self.names[place].settled.formUnion(reach)
            for (below, reach) in exceptions {
                self.entries.append(Entry(name: self.names[below].name, reach: reach, host: nil))
                self.names[below].settled.formUnion(reach)
                self.names[below].excepted.formUnion(reach)
            }
            for (below, parts) in inherited { self.names[below].settled.formUnion(parts) }
        }
    }

    /// Examines the names below one that an entry would reach: which have to be excepted from it, and which require the
    /// same. False where one has to be excepted and cannot be.
    private mutating func examine(
        below place: Int, _ reach: NameReach, _ rule: NameRules.Rule,
        _ exceptions: inout [(place: Int, reach: NameReach)],
        _ inherited: inout [(place: Int, parts: NameReach)]
    ) -> Bool {
        guard reach != .own else { return true }
        let upper = self.names[place]
        var widened: [String] = []
        var lost: [(name: String, wanted: NameReach, besides: NameReach)] = []
        // The nearest first: what an exception takes out with all below it needs no further one.
        for at in self.names[..<place].indices.reversed() {
            let names = self.names[at]
            guard let labels = names.labels(below: upper) else { continue }
            var same: NameReach = []
            var other: NameReach = []
            for part in names.parts.elements where reach.contains(NameReach.place(of: part, labels: labels)) {
                guard let wanted = names.rules[part] else { continue }
                if wanted.isSame(as: rule) {
                    same.formUnion(part)
                } else if !names.settled.contains(part) {
                    other.formUnion(part)
                } else if wanted.isPinned {
                    widened.append(names.name)
                }
            }
            let isOut = self.isCutOff(at, from: place) || self.isExcepted(at, by: exceptions)
            if !other.isEmpty, !isOut {
                guard let exception = self.exception(for: other, of: names) else {
                    let words = other.words(of: names.name)
                    self.obstacles[upper.name] = "\(self.title) cannot except \(words) from its entry"
                    return false
                }
                exceptions.append((at, exception))
                let besides = exception.subtracting(other).subtracting(names.parts)
                if !besides.isEmpty { lost.append((names.name, other, besides)) }
            }
            let open = same.subtracting(names.settled)
            if !open.isEmpty, !isOut { inherited.append((at, open)) }
        }
        for name in widened.reversed().uniqued { self.noteOverlap(of: name, upper.name) }
        for (name, wanted, besides) in lost.reversed() {
            self.notes.append(
                "\(besides.words(of: name)): left out. \(self.title) cannot except \(wanted.words(of: name)) alone "
                    + "from the entry of \(upper.name).")
        }
        return true
    }

    /// Whether one of these exceptions takes a name out with all names below its own.
    private func isExcepted(_ lower: Int, by exceptions: [(place: Int, reach: NameReach)]) -> Bool {
        exceptions.contains { $0.reach == .all && self.names[lower].labels(below: self.names[$0.place]) != nil }
    }

    /// Whether an entry lies between two names that reaches the lower one, so that the upper one's does not.
    private func isCutOff(_ lower: Int, from upper: Int) -> Bool {
        guard self.rules.overlap != .sum else { return false }
        return self.names[..<upper].contains {
            $0.settled == .all && self.names[lower].labels(below: $0) != nil
                && $0.labels(below: self.names[upper]) != nil
        }
    }

    /// The entry that excepts `parts`, and as little else as can be; nil where there is none, or the name has an entry
    /// already.
    private func exception(for parts: NameReach, of names: NameRules) -> NameReach? {
        guard names.settled.isEmpty else { return nil }
        return self.rules.exceptions.filter { $0.isSuperset(of: parts) }
            .min { $0.elements.count < $1.elements.count }
    }

    /// Notes the effect on a name with an entry of its own that a wider one covers too.
    private mutating func noteOverlap(of name: String, _ upper: String) {
        switch self.rules.overlap {
        case .nearest: break
        case .sum:
            self.notes.append(
                "\(name) passes with the pins of \(upper) too: \(self.title) adds up the pins of all entries that "
                    + "stand for a name.")
        case .unknown:
            self.notes.append(
                "\(name) has an entry of its own and is reached by that of \(upper): Apple does not say which of them "
                    + "holds.")
        }
    }

    /// Notes the names that no entry with their pins reaches.
    private mutating func noteRest(of names: NameRules) {
        let rest = names.parts.elements.filter { names.rules[$0]?.isPinned == true }
            .reduce(NameReach()) { $0.union($1) }.subtracting(names.settled.subtracting(names.excepted))
        guard !rest.isEmpty else { return }
        let why = self.obstacles[names.name] ?? self.rules.words
        self.notes.append("\(rest.words(of: names.name)): left out. \(why).")
    }
}

extension Array where Element: Equatable {
    /// Without equal neighbours.
    var uniqued: [Element] {
        self.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}
