import Addresses
import Dispatch
import Fixtures
import Glibc
import Probing
import Synchronization
import Testing

/// What users name is not what the server connects to.
@Suite(.takingTurns, .timeLimit(.minutes(60))) struct `The prober's guard` {
    @Test func `the prober's guard refuses addresses as targets unless the operator allows them`() async throws {
        let policy = AddressPolicy(allowed: [try IPNetwork("127.0.0.0/8")])
        try await withProber(policy: policy) { prober in
            let failure = try await prober.probe(ProbeTarget("127.0.0.1:1")).onlyFailure()
            #expect(failure.kind == .blocked && failure.stage == .resolution)
        }
        try await withProber(policy: AddressPolicy(allowsLiterals: true)) { prober in
            for text in ["127.0.0.1", "[::1]:22", "169.254.169.254:80", "[::ffff:127.0.0.1]:443"] {
                let failure = try await prober.probe(ProbeTarget(text)).onlyFailure()
                #expect(failure.kind == .blocked && failure.stage == .connection)
            }
        }
    }

    @Test func `the prober's guard connects to no refused address, whatever else the name has`() async throws {
        let isReached = Atomic(false)
        let host = try SocketHost { _ in isReached.store(true, ordering: .relaxed) }
        let addresses = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254"]
        try await withProber(addresses: addresses, policy: AddressPolicy()) { prober in
            let report = try await prober.probe(host.target())
            #expect(report.addresses.count == 5 && report.addresses.allSatisfy { $0.failure?.kind == .blocked })
            #expect(!report.isEvidence && report.failure == nil)
        }
        let wasReached = isReached.load(ordering: .relaxed)
        #expect(!wasReached)
    }

    @Test func `the prober's guard resolves once, so that a name cannot change its answer`() async throws {
        let lookUps = Atomic(0)
        let loopback = try #require(IPAddress("127.0.0.1"))
        let allowed = try #require(IPAddress("127.0.0.9"))
        let policy = AddressPolicy(allowed: [try IPNetwork("127.0.0.9")])
        let host = try SocketHost { $0.send("the wrong address") }
        try await withProber(
            policy: policy,
            lookUp: { _ in lookUps.add(1, ordering: .relaxed).newValue == 1 ? [allowed] : [loopback] }
        ) { prober in
            let failure = try await prober.probe(host.target()).onlyFailure()
            // Nothing listens on the address that was asked about.
            #expect(failure.kind == .refused)
        }
        let count = lookUps.load(ordering: .relaxed)
        #expect(count == 1)
    }

    @Test func `the prober's guard refuses addresses that the system's own names give`() async throws {
        try await withProber(policy: AddressPolicy(), lookUp: SystemLookUp.addresses) { prober in
            let report = try await prober.probe(ProbeTarget("localhost:22"))
            #expect(!report.addresses.isEmpty && report.addresses.allSatisfy { $0.failure?.kind == .blocked })
        }
    }

    @Test(arguments: ["0x7f.1", "2130706433", "127.0.0.1", "0177.1", "::1", "localhost\0.test", "127.1"])
    func `the prober's guard reads no name as a number`(name: String) {
        #expect(throws: ResolutionFailure.isAddress) { try SystemLookUp.addresses(of: name) }
    }

    @Test func `the prober's guard says why a name has no address`() async throws {
        try await withProber(addresses: []) { prober in
            let failure = try await prober.probe(ProbeTarget("probe.test")).onlyFailure()
            #expect(failure.kind == .nameNotResolved && failure.stage == .resolution)
        }
    }

    @Test(arguments: [
        (EAI_NONAME, true), (-5, true), (EAI_AGAIN, false), (EAI_FAIL, false), (EAI_SYSTEM, false), (EAI_MEMORY, false),
    ])
    func `the prober's guard takes only a resolver's answer for evidence`(status: CInt, isAnswer: Bool) async throws {
        try await withProber(lookUp: { _ throws(ResolutionFailure) in throw SystemLookUp.failure(status) }) { prober in
            let report = try await prober.probe(ProbeTarget("probe.test"))
            let failure = try #require(report.failure)
            #expect(failure.kind == (isAnswer ? .nameNotResolved : .resolverFailed) && report.isEvidence == isAnswer)
            let words = String(cString: gai_strerror(status))
            #expect(failure.reason == "probe.test cannot be resolved: \(words)")
        }
    }

    @Test func `the prober's guard does not wait for a stuck resolver, nor lets look-ups pile up there`() async throws {
        let isReleased = DispatchSemaphore(value: 0)
        let started = Atomic(0)
        let options = ProbeOptions(resolutionTimeout: .milliseconds(300), patience: .milliseconds(300))
        try await withProber(
            limits: Prober.Limits(lookUps: 2),
            lookUp: { name in
                started.add(1, ordering: .relaxed)
                isReleased.wait()
                return []
            }
        ) { prober in
            let target = try ProbeTarget("probe.test")
            let kinds = await withTaskGroup(of: ProbeFailure.Kind?.self) { group in
                for _ in 0..<6 { group.addTask { await prober.probe(target, options: options).failure?.kind } }
                return await group.reduce(into: [ProbeFailure.Kind: Int]()) { $0[$1 ?? .closed, default: 0] += 1 }
            }
            // The two that hold the threads, and the four behind them.
            #expect(kinds == [.resolverFailed: 2, .overloaded: 4])
            let count = started.load(ordering: .relaxed)
            #expect(count == 2)
            isReleased.signal()
            isReleased.signal()
        }
    }

    @Test func `the prober's guard bounds the connections, and the line before them`() async throws {
        let open = Atomic(0)
        let most = Atomic(0)
        let host = try SocketHost { connection in
            most.max(open.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
            connection.hang()
            open.subtract(1, ordering: .relaxed)
        }
        try await withProber(limits: Prober.Limits(connections: 8, waiting: 8)) { prober in
            let target = try host.target()
            let kinds = await withTaskGroup(of: ProbeFailure.Kind?.self) { group in
                for _ in 0..<20 {
                    group.addTask { try? await prober.probe(target, options: hurried).onlyFailure().kind }
                }
                return await group.reduce(into: [ProbeFailure.Kind: Int]()) { $0[$1 ?? .closed, default: 0] += 1 }
            }
            #expect(
                kinds[.timedOut, default: 0] >= 8
                    && kinds[.overloaded, default: 0] + kinds[.timedOut, default: 0] == 20)
        }
        let count = most.load(ordering: .relaxed)
        // A connection may be followed by the next before its host has noticed its end.
        #expect(count <= 16)
    }
}
