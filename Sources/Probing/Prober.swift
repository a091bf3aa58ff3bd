import Addresses
import Concurrency
import Glibc
import NIOCore
import NIOPosix
package import PinWire

/// Fetches the certificate chains that hosts really serve, as seen from this machine.
///
/// A probe resolves the name once, checks each address with ``AddressPolicy``, connects to the allowed ones, all at the
/// same time, and does a handshake. It sends no request and follows nothing. A slow host uses up only its own time-out:
/// every wait has an end, and every buffer and line a bound.
///
/// It has one event loop and a few threads for look-ups, so that neither hostile keys nor slow resolvers delay the
/// server's own work. ``close()`` MUST be called before it is dropped.
package final class Prober: Sendable {
    /// The limits of all probes together.
    package struct Limits: Hashable, Sendable {
        /// Connections at the same time; at least 8, as many as one probe may need.
        package var connections: Int
        /// Look-ups at the same time, each of which holds a thread.
        package var lookUps: Int
        /// Probes that wait, for the resolver or for connections; more are refused as `overloaded`.
        package var waiting: Int

        package init(connections: Int = 64, lookUps: Int = 4, waiting: Int = 4096) {
            self.connections = max(connections, 8)
            self.lookUps = max(lookUps, 1)
            self.waiting = max(waiting, 0)
        }
    }

    /// Whether no certification authorities were found, so that every verification is ``Verification/unknown``.
    package let lacksTrustStore: Bool
    package let policy: AddressPolicy
    package let resolver: NameResolver
    private let group: MultiThreadedEventLoopGroup
    private let threads: NIOThreadPool
    private let limiter: ConcurrencyLimiter<Never>
    private let dialler: ProbeDialler

    /// Reads the trust store, which takes tens of milliseconds on a thread of its own.
    ///
    /// - Parameters:
    ///   - trustFile: Certification authorities in PEM; by default the system's.
    ///   - lookUp: Finds the addresses of a name; by default the system's resolver.
    ///   - now: The time for which certificates are verified.
    package static func start(
        policy: AddressPolicy = AddressPolicy(), limits: Limits = Limits(), trustFile: String? = nil,
        lookUp: @escaping NameResolver.LookUp = SystemLookUp.addresses,
        now: @escaping @Sendable () -> Timestamp = Prober.systemTime
    ) async throws -> Prober {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let threads = NIOThreadPool(numberOfThreads: limits.lookUps)
        threads.start()
        do {
            let (tls, isEmpty) = try await threads.runIfActive {
                let trust = try TrustStore.load(file: trustFile)
                return (try TLSContext(trust: trust), trust.isEmpty)
            }
            return Prober(
                policy: policy, limits: limits, group: group, threads: threads, tls: tls, lacksTrustStore: isEmpty,
                lookUp: lookUp, now: now)
        } catch {
            try? await threads.shutdownGracefully()
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private init(
        policy: AddressPolicy, limits: Limits, group: MultiThreadedEventLoopGroup, threads: NIOThreadPool,
        tls: TLSContext, lacksTrustStore: Bool, lookUp: @escaping NameResolver.LookUp,
        now: @escaping @Sendable () -> Timestamp
    ) {
        let loop = group.next()
        self.policy = policy
        self.lacksTrustStore = lacksTrustStore
        self.group = group
        self.threads = threads
        self.limiter = ConcurrencyLimiter(limit: limits.connections, waiting: limits.waiting)
        self.resolver = NameResolver(
            threads: threads, concurrency: limits.lookUps, maximumWaiting: limits.waiting, loop: loop, lookUp: lookUp)
        self.dialler = ProbeDialler(loop: loop, tls: tls, policy: policy, now: now)
    }

    /// Ends the loop and the threads. Probes under way end as cancelled or closed; the call waits for a look-up that
    /// the system's resolver does not end. No probe may begin afterwards.
    package func close() async {
        try? await self.group.shutdownGracefully()
        try? await self.threads.shutdownGracefully()
    }

    /// Probes every address of a target.
    ///
    /// Ends at the latest after the resolver's time-out, twice the address's, and twice the patience of the options. A
    /// cancelled task ends at once, with every connection closed.
    package func probe(_ target: ProbeTarget, options: ProbeOptions = ProbeOptions()) async -> ProbeReport {
        let found: [IPAddress]
        do throws(ProbeFailure) {
            found = try await self.addresses(of: target, options)
        } catch {
            return ProbeReport(target: target, failure: error)
        }
        var blocked: [AddressReport] = []
        var allowed: [IPAddress] = []
        for address in found {
            if let reason = self.policy.refusal(of: address) {
                blocked.append(AddressReport(address: address, outcome: .failed(.blocked(address, reason))))
            } else {
                allowed.append(address)
            }
        }
        let chosen = Self.alternating(allowed).prefix(options.maximumAddresses)
        var report = ProbeReport(target: target, addresses: blocked, omitted: allowed.filter { !chosen.contains($0) })
        guard !chosen.isEmpty else { return report }
        do throws(ConcurrencyLimiter<Never>.NoPlace) {
            let places = try await self.limiter.wait(for: chosen.count, within: options.patience)
            report.addresses = await self.examine(Array(zip(chosen, places)), of: target, options) + blocked
        } catch {
            let failure =
                switch error {
                case .overloaded: ProbeFailure(.connection, .overloaded, "too many probes wait for their turn")
                case .cancelled: ProbeFailure(.connection, .cancelled, "the probe was cancelled")
                }
            report = ProbeReport(target: target, failure: failure)
        }
        return report
    }

    private func addresses(
        of target: ProbeTarget, _ options: ProbeOptions
    ) async throws(ProbeFailure) -> [IPAddress] {
        switch target.host {
        case .name(let name):
            do throws(ResolutionFailure) {
                return try await self.resolver.addresses(
                    of: name.text, timeout: options.resolutionTimeout, patience: options.patience)
            } catch {
                throw ProbeFailure(error, of: name.text, within: options.resolutionTimeout)
            }
        case .address(let address):
            guard self.policy.allowsLiterals else {
                throw ProbeFailure(.resolution, .blocked, "\(address) is an address, and only names may be probed")
            }
            return [address]
        }
    }

    /// Both families in turn, each in its order.
    static func alternating(_ addresses: [IPAddress]) -> [IPAddress] {
        let families = [addresses.filter { !$0.isIPv4 }, addresses.filter(\.isIPv4)]
        return (0..<addresses.count).flatMap { index in
            families.compactMap { $0.indices.contains(index) ? $0[index] : nil }
        }
    }

    /// All at once; gives the place of each address back as soon as it is done.
    private func examine(
        _ addresses: [(IPAddress, ConcurrencyLimiter<Never>.Place)], of target: ProbeTarget, _ options: ProbeOptions
    ) async -> [AddressReport] {
        await withTaskGroup(of: (Int, AddressReport).self) { group in
            for (index, (address, place)) in addresses.enumerated() {
                group.addTask {
                    defer { place.release() }
                    return (
                        index, AddressReport(address: address, outcome: await self.examine(address, target, options))
                    )
                }
            }
            var reports = addresses.map { _ in AddressReport?.none }
            for await (index, report) in group { reports[index] = report }
            return reports.compactMap(\.self)
        }
    }

    private func examine(
        _ address: IPAddress, _ target: ProbeTarget, _ options: ProbeOptions
    ) async -> AddressReport.Outcome {
        let first: PresentedChain
        switch await self.dialler.attempt(
            address, of: target, .any, timeout: options.addressTimeout, options: options)
        {
        case .failure(let failure): return .failed(failure)
        case .success(let chain): first = chain
        }
        guard options.asksForOtherKind, let choice = KeyChoice.other(than: first.keyKind) else {
            return .served(ServedChains(chains: [first], otherKind: .notAsked))
        }
        // It has a time-out of its own: a host that was slow in the first has as much for the second.
        let second = await self.dialler.attempt(
            address, of: target, choice, timeout: options.addressTimeout, options: options)
        return .served(ServedChains(first, choice, second))
    }

    /// This machine's clock.
    package static func systemTime() -> Timestamp {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}

extension ServedChains {
    /// - Parameter second: The host's answer when it was asked for `choice`.
    init(_ first: PresentedChain, _ choice: KeyChoice, _ second: Result<PresentedChain, ProbeFailure>) {
        self.chains = [first]
        switch second {
        case .success(let chain) where choice.covers(chain.keyKind):
            self.chains.append(chain)
            self.otherKind = .served
        case .success:
            self.otherKind = .absent
        case .failure(let failure):
            // It completed a handshake a moment ago, so it declines the kind of key.
            self.otherKind = failure.kind == .handshakeAlert ? .absent : .unknown(failure)
        }
    }
}
