import Pinning
import Testing

@Suite struct `A group of events` {
    @Test func `a group of events holds every kill switch, the fleet's too`() {
        #expect(
            EventGroup.types(named: "kill-switch.*") == [
                "FleetKillSwitchEngaged", "FleetKillSwitchReleased", "KillSwitchEngaged", "KillSwitchReleased",
            ])
    }

    /// A new type of event has to be put into a group, or a filter by groups misses it.
    @Test func `every event type is in one group`() {
        var groups: [String: [String]] = [:]
        for group in EventGroup.allCases {
            #expect(!group.types.isEmpty)
            for type in group.types { groups[type, default: []].append(group.rawValue) }
        }
        #expect(Set(groups.keys) == Set(Event.types))
        for (type, names) in groups { #expect(names.count == 1, "\(type) is in \(names)") }
    }

    @Test(arguments: ["kill-switch", "kill-switch.", "*", ".*", "Kill-Switch.*", "KillSwitch", ""])
    func `a group of events has one name`(name: String) { #expect(EventGroup.types(named: name) == nil) }

    @Test func `a group of events may be listed beside types`() {
        #expect(EventGroup.types(named: "PinRevoked") == ["PinRevoked"])
    }
}
