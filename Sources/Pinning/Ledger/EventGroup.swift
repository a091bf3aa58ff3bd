/// Types of events that belong together, by one name: `kill-switch.*`.
///
/// A filter that names one type of a group easily misses its siblings, such as the fleet's kill switch beside an app's.
package enum EventGroup: String, CaseIterable, Sendable {
    case app, host, pin, candidate, rollout, rotation, key, token, access, webhook, telemetry, warning, client, log,
        document, change, audit
    case killSwitch = "kill-switch"
    case guardRail = "guard-rail"

    /// The name in filters.
    package var name: String { "\(self.rawValue).*" }

    /// The group that a filter names; nil for none.
    package init?(name: String) {
        guard name.hasSuffix(".*"), let group = EventGroup(rawValue: String(name.dropLast(2))) else { return nil }
        self = group
    }

    /// The types that belong to it, in order.
    package var types: [String] { Event.kinds.filter { $0.group == self }.map(\.type) }

    /// The types that a filter's element covers, one or a group's; nil for a name that is neither.
    package static func types(named name: String) -> [String]? {
        if let group = EventGroup(name: name) { return group.types }
        return Event.types.contains(name) ? [name] : nil
    }

    /// All possible elements of a filter.
    package static var names: [String] { EventGroup.allCases.map(\.name).sorted() + Event.types }
}
