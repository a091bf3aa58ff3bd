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
/// there is no other place gets a bounded number of trials in a second.
///
/// A connection keeps its place against others of its network once a request's head has come on it. Until then it gives
/// way to a new one of the same network for which there is no other place, the oldest first: after a second
/// (``patience``), and at once where that network has had its trials for this second. So a network with any silent
/// connection always gets its newest one in, and no other network loses a place to it.
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
        /// Connections of any kind on which no head has come.
        var silent = SilentConnections()
        var operators: Set<ObjectIdentifier> = []
        var nextNumber: UInt64 = 0
        /// The trials that each network began since `countedSince`, within a second.
        var attempts: [ClientNetwork: Int] = [:]
        var countedSince = NIODeadline.uptimeNanoseconds(0)
    }

    /// How long a connection without a request's head keeps its place against others of its network.
    static let patience = TimeAmount.seconds(1)

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

    /// True where a new connection of a network is closed at once: no place is left, the network has had its trials for
    /// this second, and none of its connections is silent. Any other counts as a trial, unless a connection that has been
    /// silent for long gives way to it.
    func refusesAtOnce(_ network: ClientNetwork?, at now: NIODeadline) -> Bool {
        guard let network else { return false }
        return self.state.withLock { state in
            let hasShare = state.networks[network, default: 0] < self.networkLimit.load(ordering: .relaxed)
            if hasShare, state.taken.count < self.limits.connections - self.limits.reserve { return false }
            if self.yielding(in: state, to: network, after: Self.patience, at: now) != nil { return false }
            guard self.limits.reserve > 0 else { return !hasShare }
            if now - state.countedSince >= .seconds(1) {
                state.attempts.removeAll(keepingCapacity: true)
                state.countedSince = now
            }
            let count = state.attempts[network, default: 0]
            guard count > 0 || state.attempts.count < Self.attemptLimit else { return true }
            // One more than there may be says that there were too many.
            state.attempts[network] = min(count, self.limits.trialsPerSecond) + 1
            guard count >= self.limits.trialsPerSecond else { return false }
            return self.yielding(in: state, to: network, after: .zero, at: now) == nil
        }
    }

    /// The connection that gives way to a new one of its network; nil for none.
    private func yielding(
        in state: State, to network: ClientNetwork, after patience: TimeAmount, at now: NIODeadline
    ) -> (any Channel)? {
        // Where the limit was lowered, connections that are there stay, and no place of theirs is passed on.
        guard state.networks[network, default: 0] <= self.networkLimit.load(ordering: .relaxed),
            let oldest = state.silent.oldest(of: network), now - oldest.since >= patience
        else { return nil }
        return oldest.channel
    }

    /// Finds a place for a connection, which MUST give it back unless there is none.
    func take(_ channel: any Channel, of network: ClientNetwork?, at now: NIODeadline) -> Admission {
        let (admission, displaced): (Admission, (any Channel)?) = self.state.withLock { state in
            let own = network.map { state.networks[$0, default: 0] } ?? 0
            if own < self.networkLimit.load(ordering: .relaxed),
                state.taken.count < self.limits.connections - self.limits.reserve
            {
                Self.take(channel, network, &state, at: now)
                return (.place, nil)
            }
            if let network {
                let isPressed = state.attempts[network, default: 0] > self.limits.trialsPerSecond
                let patience = isPressed ? .zero : Self.patience
                if let oldest = self.yielding(in: state, to: network, after: patience, at: now) {
                    return (self.pass(on: oldest, to: channel, of: network, &state, at: now), oldest)
                }
            }
            // Without a reserve, the listener itself stops accepting; a few may come at once all the same.
            guard self.limits.reserve > 0 else {
                guard own < self.networkLimit.load(ordering: .relaxed) else { return (.none, nil) }
                Self.take(channel, network, &state, at: now)
                return (.place, nil)
            }
            var displaced: (any Channel)?
            if state.trials.count + state.operators.count >= self.limits.reserve {
                guard let id = Self.dispensable(of: state.trials) else { return (.none, nil) }
                displaced = state.trials.removeValue(forKey: id)?.channel
                state.silent.remove(id)
            }
            self.begin(channel, network, &state, at: now)
            return (.trial, displaced)
        }
        displaced?.close(promise: nil)
        return admission
    }

    /// Gives a connection the place of another one of its network.
    private func pass(
        on oldest: any Channel, to channel: any Channel, of network: ClientNetwork, _ state: inout State,
        at now: NIODeadline
    ) -> Admission {
        let id = ObjectIdentifier(oldest)
        state.silent.remove(id)
        guard state.trials.removeValue(forKey: id) == nil else {
            self.begin(channel, network, &state, at: now)
            return .trial
        }
        state.taken.remove(id)
        state.taken.insert(ObjectIdentifier(channel))
        state.silent.add(channel, of: network, at: now)
        return .place
    }

    /// Puts a connection on trial.
    private func begin(_ channel: any Channel, _ network: ClientNetwork?, _ state: inout State, at now: NIODeadline) {
        state.trials[ObjectIdentifier(channel)] = Trial(channel: channel, network: network, number: state.nextNumber)
        state.nextNumber += 1
        state.silent.add(channel, of: network, at: now)
        self.trials.store(state.trials.count, ordering: .relaxed)
    }

    /// A request's head has come on a connection: it gives way to no other of its network any more.
    func hear(_ id: ObjectIdentifier) { self.state.withLock { $0.silent.remove(id) } }

    /// Gives a connection's place back.
    func giveBack(_ channel: any Channel, of network: ClientNetwork?) {
        let id = ObjectIdentifier(channel)
        self.state.withLock { state in
            state.silent.remove(id)
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

    private static func take(
        _ channel: any Channel, _ network: ClientNetwork?, _ state: inout State, at now: NIODeadline
    ) {
        Self.take(ObjectIdentifier(channel), network, &state)
        state.silent.add(channel, of: network, at: now)
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
