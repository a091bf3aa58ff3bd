package import PinWire

/// The state of one stream.
package enum StreamState: Hashable, Sendable {
    case app(App)
    case watch(AppID, Watch)
    case fleet(Fleet)
    case keys(KeyRing)
    case access(Access)
    case webhooks(Webhooks)
    case log(LogSettings)
    case changes(ProposedChanges)
    case audit(AuditTrail)
}

extension LedgerState {
    /// Takes in the result of a decision made in this state: the same as taking in all of its events in order.
    package mutating func take(_ after: StreamState) {
        switch after {
        case .app(let app): self.apps.insert(app)
        case .watch(let id, let watch): _ = self.apps.update(id) { $0.watch = watch }
        case .fleet(let fleet): self.fleet = fleet
        case .keys(let keys): self.keys = keys
        case .access(let access): self.access = access
        case .webhooks(let webhooks): self.webhooks = webhooks
        case .log(let log): self.log = log
        case .changes(let changes): self.changes = changes
        case .audit(let audit): self.audit = audit
        }
    }

    /// The state of a stream; nil for that of an app that is not there.
    func state(of stream: StreamID) -> StreamState? {
        switch stream {
        case .app(let id): self.apps[id].map { .app($0) }
        case .watch(let id): self.apps[id].map { .watch(id, $0.watch) }
        case .fleet: .fleet(self.fleet)
        case .keys: .keys(self.keys)
        case .access: .access(self.access)
        case .webhooks: .webhooks(self.webhooks)
        case .log: .log(self.log)
        case .changes: .changes(self.changes)
        case .audit: .audit(self.audit)
        }
    }
}

/// A state that events change, one after the other.
protocol Evolving {
    associatedtype Fact

    mutating func evolve(_ event: Fact, at time: Timestamp)
}

extension App: Evolving {}
extension Watch: Evolving {}
extension Fleet: Evolving {}
extension KeyRing: Evolving {}
extension Access: Evolving {}
extension Webhooks: Evolving {}
extension LogSettings: Evolving {}
extension ProposedChanges: Evolving {}
extension AuditTrail: Evolving {}

extension Evolving {
    /// The state after events that are all recorded at `time`.
    func after(_ events: [Fact], at time: Timestamp) -> Self {
        var after = self
        for event in events { after.evolve(event, at: time) }
        return after
    }
}
