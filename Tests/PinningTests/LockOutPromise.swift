import PinWire
import Pinning

extension LockOutModel {
    /// An override in the ledger: for which key of a host, and against which danger.
    struct Insistence {
        enum Danger {
            /// It is still presented somewhere, or will be by a rotation that is under way: G07, G09, G43.
            case presented
            /// Nobody has looked for a day: G07 or G09 that names no key.
            case unseen
            /// What replaced it may go back to it: G11.
            case goesBack
            /// Clients do not have it yet: G10, or an emergency.
            case notDelivered
        }

        var host: HostPattern
        var key: Pin
        var danger: Danger
        var at: Timestamp
        /// The documents that lack the key because of it.
        var versions: Range<Int64>

        /// Whether it is why a document refuses an address.
        func explains(_ address: LockOutWorld.Address, of host: HostPattern, in version: Int64) -> Bool {
            guard self.host == host, self.key == address.key, self.versions.contains(version) else { return false }
            return switch self.danger {
            case .unseen: true
            case .presented: address.presented(at: self.at) || address.arrival == .switched
            case .goesBack: self.at < address.since && address.arrival == .wentBack
            case .notDelivered: address.arrival == .switched
            }
        }
    }

    /// What a document makes its clients do at the hosts that it enforces: one set of keys for each kind of devices.
    struct Promise {
        var version: Int64
        var enforced: [HostPattern: [PolicySlot: Set<Pin>]] = [:]
        var offUntil: [HostPattern: Timestamp] = [:]

        init(_ document: Document) {
            self.version = document.version
            for host in document.hosts {
                for (slot, policy) in [(PolicySlot.baseline, host.baseline), (.candidate, host.candidate)] {
                    guard let policy, policy.mode == .enforce else { continue }
                    self.enforced[host.pattern, default: [:]][slot] = Set(policy.pins.map(\.pin))
                }
                let switches = document.killSwitches.filter { $0.host == nil || $0.host == host.pattern }
                self.offUntil[host.pattern] = switches.map(\.expiresAt).max()
            }
        }
    }

    /// A client that is locked out and should not be, and how to come there again.
    struct Violation: Error, CustomStringConvertible {
        var seed: UInt64
        var step: Int
        var what: String
        var last: [String]

        var description: String {
            "seed \(self.seed), step \(self.step): \(self.what)\n" + self.last.joined(separator: "\n")
        }
    }
}
