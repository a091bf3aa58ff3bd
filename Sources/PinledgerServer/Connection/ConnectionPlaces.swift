import Addresses
import NIOCore
import Probing
import Synchronization

/// The places for connections of one listener, and the limit of one network.
///
/// On a listener that is for operators too the last places are a reserve. A connection for which there is no other
/// place, in all or for its network, is there on trial: a request with a valid token makes it an operator's, which
/// keeps its place; of public requests only those about the node's health are answered; and it gives way to the next
/// new connection. So a client that holds every place keeps no operator out, unless it opens, between an operator's
/// connecting and the end of its request's head, as many new connections as the reserve has places. A network for which
/// there is no other place gets a bounded number of trials in a second; further connections are closed at once.
final class ConnectionPlaces: Sendable {
    struct Limits: Sendable {
        /// In all, with the reserve.
        var connections: Int
        /// The number of them in the reserve; 0 where the listener is not for operators, or only for them.
        var reserve = 0
        /// The most places of one network without the reserve.
        var network = Int.max
        /// The most connections of one network on trial within a second.
        var trialsPerSecond = 500
    }

    enum Admission: Hashable {
        case place
        case trial
        /// There is no place: close the connection.
        case none
    }

    private struct Trial {
        let channel: any Channel
        let network: ClientNetwork?
        /// The order of arrival.
        let number: UInt64
        /// A request other than an operator's has come on it.
        var isSpent = false
    }

    private struct State {
        /// Those outside the reserve.
        var taken: Set<ObjectIdentifier> = []
        var networks: [ClientNetwork: Int] = [:]
        var trials: [ObjectIdentifier: Trial] = [:]
        var operators: Set<ObjectIdentifier> = []
        var nextNumber: UInt64 = 0
        /// The trials that each network began since `countedSince`, within a second.
        var attempts: [ClientNetwork: Int] = [:]
        var countedSince = NIODeadline.uptimeNanoseconds(0)
    }

    /// The most networks whose trials are counted within a second; others wait for the next.
    private static let attemptLimit = 4096

    let limits: Limits
    /// ``Limits/network``, which may change while the node runs.
    private let networkLimit: Atomic<Int>
    /// The networks that many clients share: no network's limit applies to them.
    private let trustedProxies: TrustedProxies
    private let state = Mutex(State())
    private let trials = Atomic(0)

    init(limits: Limits, trustedProxies: TrustedProxies = TrustedProxies()) {
        self.limits = limits
        self.networkLimit = Atomic(limits.network)
        self.trustedProxies = trustedProxies
    }

    /// Changes the most places of one network. Connections that are there stay.
    func set(networkLimit: Int) { self.networkLimit.store(networkLimit, ordering: .relaxed) }

    /// The network that a connection counts for; nil for one of a trusted proxy, or where it is unknown.
    func network(of address: SocketAddress?) -> ClientNetwork? {
        guard let address = address.flatMap({ IPAddress($0) })?.plain,
            !self.trustedProxies.networks.contains(where: { $0.contains(address) })
        else { return nil }
        return ClientNetwork(of: address)
    }

    /// Whether to close a new connection of a network at once: there is no place for it, and its network has had its
    /// trials for this second. Otherwise it counts as a trial.
    func refusesAtOnce(_ network: ClientNetwork?, at now: NIODeadline) -> Bool {
        guard let network else { return false }
        return self.state.withLock { state in
            let hasShare = state.networks[network, default: 0] < self.networkLimit.load(ordering: .relaxed)
            if hasShare, state.taken.count < self.limits.connections - self.limits.reserve { return false }
            guard self.limits.reserve > 0 else { return !hasShare }
            if now - state.countedSince >= .seconds(1) {
                state.attempts.removeAll(keepingCapacity: true)
                state.countedSince = now
            }
            let count = state.attempts[network, default: 0]
            guard count < self.limits.trialsPerSecond, count > 0 || state.attempts.count < Self.attemptLimit else {
                return true
            }
            state.attempts[network] = count + 1
            return false
        }
    }

    /// Finds a place for a connection, which MUST give it back unless there is none.
    func take(_ channel: any Channel, of network: ClientNetwork?) -> Admission {
        let (admission, displaced): (Admission, (any Channel)?) = self.state.withLock { state in
            let own = network.map { state.networks[$0, default: 0] } ?? 0
            if own < self.networkLimit.load(ordering: .relaxed),
                state.taken.count < self.limits.connections - self.limits.reserve
            {
                Self.take(ObjectIdentifier(channel), network, &state)
                return (.place, nil)
            }
            // Without a reserve, the listener itself stops accepting; a few may come at once all the same.
            guard self.limits.reserve > 0 else {
                guard own < self.networkLimit.load(ordering: .relaxed) else { return (.none, nil) }
                Self.take(ObjectIdentifier(channel), network, &state)
                return (.place, nil)
            }
            var displaced: (any Channel)?
            if state.trials.count + state.operators.count >= self.limits.reserve {
                guard let id = Self.dispensable(of: state.trials) else { return (.none, nil) }
                displaced = state.trials.removeValue(forKey: id)?.channel
            }
            state.trials[ObjectIdentifier(channel)] = Trial(
                channel: channel, network: network, number: state.nextNumber)
            state.nextNumber += 1
            self.trials.store(state.trials.count, ordering: .relaxed)
            return (.trial, displaced)
        }
        displaced?.close(promise: nil)
        return admission
    }

    /// Gives a connection's place back.
    func giveBack(_ channel: any Channel, of network: ClientNetwork?) {
        let id = ObjectIdentifier(channel)
        self.state.withLock { state in
            if state.trials.removeValue(forKey: id) != nil {
                self.trials.store(state.trials.count, ordering: .relaxed)
            } else if state.taken.remove(id) != nil {
                guard let network else { return }
                let own = state.networks[network, default: 0] - 1
                state.networks[network] = own > 0 ? own : nil
            } else {
                // A connection that gave way has no place to return.
                state.operators.remove(id)
            }
        }
    }

    private static func take(_ id: ObjectIdentifier, _ network: ClientNetwork?, _ state: inout State) {
        state.taken.insert(id)
        if let network { state.networks[network, default: 0] += 1 }
    }

    /// The connection on trial that has been there longest, of the network with the most, preferring those with
    /// requests other than operators'.
    private static func dispensable(of trials: [ObjectIdentifier: Trial]) -> ObjectIdentifier? {
        if let spent = trials.filter({ $0.value.isSpent }).min(by: { $0.value.number < $1.value.number }) {
            return spent.key
        }
        var counts: [ClientNetwork?: Int] = [:]
        for trial in trials.values { counts[trial.network, default: 0] += 1 }
        let most = counts.values.max()
        return trials.filter { counts[$0.value.network] == most }.min { $0.value.number < $1.value.number }?.key
    }

    /// How many connections have a place, those on trial included.
    var count: Int {
        self.state.withLock { $0.taken.count + $0.trials.count + $0.operators.count }
    }

    // MARK: Trials

    /// Whether any connection is on trial.
    var hasTrials: Bool { self.trials.load(ordering: .relaxed) > 0 }

    /// The one of these that is on trial; nil for none of them.
    func trial(among ids: [ObjectIdentifier]) -> ObjectIdentifier? {
        guard self.hasTrials else { return nil }
        return self.state.withLock { state in ids.first { state.trials[$0] != nil } }
    }

    /// A request with a valid token has come on a connection on trial.
    func confirm(_ id: ObjectIdentifier) {
        self.state.withLock { state in
            guard state.trials.removeValue(forKey: id) != nil else { return }
            state.operators.insert(id)
            self.trials.store(state.trials.count, ordering: .relaxed)
        }
    }

    /// Gives a connection on trial a place outside the reserve; false where there still is none.
    func promote(_ id: ObjectIdentifier) -> Bool {
        self.state.withLock { state in
            // It has become an operator's, or has a place already.
            guard let trial = state.trials[id] else { return true }
            let own = trial.network.map { state.networks[$0, default: 0] } ?? 0
            guard own < self.networkLimit.load(ordering: .relaxed),
                state.taken.count < self.limits.connections - self.limits.reserve
            else {
                state.trials[id]?.isSpent = true
                return false
            }
            state.trials[id] = nil
            Self.take(id, trial.network, &state)
            self.trials.store(state.trials.count, ordering: .relaxed)
            return true
        }
    }
}
