import PinWire

/// A limit that one kind of client meets, reported once however many hosts it concerns.
struct MetLimit {
    /// The first finding, whose words stand for all.
    let first: ClientFinding
    /// The other hosts with the same finding, in order.
    let others: [HostPattern]

    /// The number of hosts that are named besides the first; further ones are counted.
    private static let limit = 5

    /// The summary of findings: one for each kind, limit and severity, in their order.
    static func all(in findings: [ClientFinding]) -> [MetLimit] {
        var places: [Subject: Int] = [:]
        var groups: [[ClientFinding]] = []
        for finding in findings {
            let subject = Subject(kind: finding.kind, limit: finding.limit, severity: finding.severity)
            if let place = places[subject] {
                groups[place].append(finding)
            } else {
                places[subject] = groups.count
                groups.append([finding])
            }
        }
        return groups.map { group in
            let hosts = Set(group.compactMap(\.host)).subtracting([group[0].host].compactMap { $0 })
            return MetLimit(first: group[0], others: hosts.sorted())
        }
    }

    private struct Subject: Hashable {
        var kind: ClientKind
        var limit: ClientLimit
        var severity: ClientFinding.Severity
    }

    /// What is wrong, as a sentence or two, after the names of kind and limit.
    var detail: String {
        var detail = "`\(self.first.kind.rawValue)`, `\(self.first.limit.rawValue)`: \(self.first.detail)"
        guard !self.others.isEmpty else { return detail }
        let rest = self.others.count - Self.limit
        detail += " The same applies to \(self.others.prefix(Self.limit).map(\.text).joined(separator: ", "))"
        return detail + (rest > 0 ? " and \(rest) more host\(rest == 1 ? "" : "s")." : ".")
    }
}
