import PinWire
import Pinning

/// The domains for which clients of 2.x ignore pins: the member `domainsConfig`. Clients keep it until an answer comes
/// without it.
struct WultraDomains {
    /// The setting for domains that are not named.
    let isRequiredForOthers: Bool
    /// Domains for which pins are not required, each once.
    let unpinned: [String]

    /// Nil where it would be empty.
    ///
    /// Unpinned are hosts that are off, by whatever cause, and hosts that only report, which these clients cannot. A
    /// host is named by its pattern, and by the names of its certificates, since clients identify a server by those;
    /// but not by one that also identifies a host with pins.
    init?(_ view: ClientView, _ settings: ClientSettings) {
        guard settings.understandsDomains else { return nil }
        func names(_ host: ClientView.Host) -> [String] {
            [host.pattern.text] + host.pins.flatMap(\.certificates).flatMap { $0.wultraNames(at: host.pattern) }
        }
        let kept = Set(view.hosts.filter { !$0.isUnpinned }.flatMap(names))
        var seen: Set<String> = []
        self.unpinned = view.hosts.filter(\.isUnpinned).flatMap { host in
            names(host).filter { $0 == host.pattern.text || !kept.contains($0) }
        }.filter { seen.insert($0).inserted }
        self.isRequiredForOthers = !view.isEverythingOff
        guard !self.unpinned.isEmpty || !self.isRequiredForOthers else { return nil }
    }

    var json: OrderedJSON {
        .members([
            "sslPinningRequiredForUnlisted": .bool(self.isRequiredForOthers),
            "domains": .array(
                self.unpinned.map { .members(["name": .string($0), "sslPinningRequired": .bool(false)]) }),
        ])
    }
}

extension ClientView.Host {
    fileprivate var isUnpinned: Bool {
        switch self.outcome {
        case .off, .reportOnly: true
        case .enforce, .builtin: false
        }
    }
}
