import PinWire
import Pinning

/// For which domains clients of 2.x are not to look at pins: the member `domainsConfig`. Clients keep it until an
/// answer comes without it.
struct WultraDomains {
    /// What holds for domains that are not named.
    let isRequiredForOthers: Bool
    /// Domains for which pins are not required, each once.
    let unpinned: [String]

    /// Nil where there is nothing to be said.
    ///
    /// Unpinned are hosts that are off, whatever turned them off, and hosts that only report, which these clients
    /// cannot. A host is named by its pattern, and by the names of its certificates, since clients know a server by
    /// those; but not by one under which a host with pins is known as well.
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
