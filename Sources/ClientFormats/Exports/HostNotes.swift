import PinWire
import Pinning

/// Notes that several formats share. Reasons are sentences without their full stop.
enum HostNotes {
    static let isBuiltin = "Its pins are those built into the app, which the server does not have"
    static let hasNoPins = "It has no pins"
    static let hasNoCertificate = "Nobody showed a certificate of its key, and whole certificates are compared"

    /// That some installs get other pins than the file has; nil where none do.
    static func candidate(of host: ClientView.Host) -> String? {
        guard let candidate = host.candidate, Set(candidate.map(\.pin)) != Set(host.pins.map(\.pin)) else { return nil }
        return "\(host.pattern): a candidate is on its way to some installs; the file has what all others get."
    }

    /// That pins in the file are temporarily turned off; nil where none are. Apps built with the file outlive the
    /// switch.
    static func killSwitch(among hosts: [ClientView.Host]) -> String? {
        let names = hosts.filter { $0.reason == .killSwitchEngaged }.map(\.pattern.text)
        guard !names.isEmpty else { return nil }
        return
            "A kill switch has turned off the pins of \(names.joined(separator: ", ")) for now. The file still has "
            + "them: it outlives the switch, and installs that use it do not receive a kill switch."
    }
}
