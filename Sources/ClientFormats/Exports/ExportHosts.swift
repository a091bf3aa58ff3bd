import PinWire
import Pinning

/// An app's hosts, divided into those whose pins a format can have and those that it must leave alone.
struct ExportHosts {
    /// In the order of their patterns, as are the others.
    private(set) var kept: [ClientView.Host] = []
    private(set) var leftOut: [ClientView.Host] = []
    private(set) var notes: [String] = []

    init(_ view: ClientView, for form: ExportForm) {
        var last: HostPattern?
        for host in view.hosts.sorted(by: { $0.pattern < $1.pattern }) where host.pattern != last {
            last = host.pattern
            if let why = Self.obstacle(of: host, form) {
                self.leftOut.append(host)
                self.notes.append("\(host.pattern): left out. \(why).")
            } else {
                self.kept.append(host)
                if let note = HostNotes.candidate(of: host) { self.notes.append(note) }
            }
        }
        if let note = HostNotes.killSwitch(among: self.kept) { self.notes.append(note) }
    }

    /// Why a host's pins cannot be in a file, as a sentence without its full stop; nil where they can.
    ///
    /// Only the policy decides: a temporary switch, or a date from which pins are off, must not decide what apps are
    /// built with.
    private static func obstacle(of host: ClientView.Host, _ form: ExportForm) -> String? {
        switch host.mode {
        case .enforce: break
        case .reportOnly where form.canReportOnly: break
        case .reportOnly: return "Its mode is report_only, and what reads \(form.title) can only enforce"
        case .off: return "Its mode is off"
        case nil: return HostNotes.isBuiltin
        }
        return host.pins.isEmpty ? HostNotes.hasNoPins : nil
    }

    /// Left-out hosts that a kept one covers: a file that takes patterns unchanged has to say that they have no pins,
    /// or readers would use the kept one's.
    var exceptions: [ClientView.Host] {
        let upper = self.kept.map { ($0.reach, NameRules($0.pattern.name)) }
        return self.leftOut.filter { host in
            let names = NameRules(host.pattern.name)
            return upper.contains { reach, other in
                guard let labels = names.name == other.name ? 0 : names.labels(below: other) else { return false }
                return host.reach.elements.contains { reach.contains(NameReach.place(of: $0, labels: labels)) }
            }
        }
    }
}
