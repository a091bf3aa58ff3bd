import Addresses
import PinWire
import Probing
import Testing

/// A prober that may probe loopback, trusts the tests' root, and resolves every name to the given addresses.
func withProber(
    addresses: [String] = ["127.0.0.1"], policy: AddressPolicy? = nil, limits: Prober.Limits = Prober.Limits(),
    trustFile: String? = nil, at time: Timestamp? = nil, lookUp: NameResolver.LookUp? = nil,
    _ body: (Prober) async throws -> Void
) async throws {
    let addresses = addresses.compactMap { IPAddress($0) }
    let loopback = AddressPolicy(allowed: try ["127.0.0.0/8", "::1"].map { try IPNetwork($0) }, allowsLiterals: true)
    let prober = try await Prober.start(
        policy: policy ?? loopback, limits: limits,
        trustFile: trustFile ?? TestAuthority.shared.get().file("root.pem"),
        lookUp: lookUp ?? { _ in addresses }, now: { time ?? Prober.systemTime() })
    do {
        try await body(prober)
    } catch {
        await prober.close()
        throw error
    }
    await prober.close()
}

/// Short, for hosts that use all of it.
let hurried = ProbeOptions(addressTimeout: .seconds(2), asksForOtherKind: false)

/// For hosts that are found out by what they send, however busy the machine is.
let patient = ProbeOptions(addressTimeout: .seconds(60), asksForOtherKind: false)

extension ProbeReport {
    /// What the only address serves.
    func service() throws -> ServedChains {
        let report = try #require(self.addresses.count == 1 ? self.addresses.first : nil, "\(self)")
        guard case .served(let service) = report.outcome else {
            throw try #require(report.failure, "\(self)")
        }
        return service
    }

    /// Why the only address, or the whole probe, failed.
    func onlyFailure() throws -> ProbeFailure {
        if let failure { return failure }
        return try #require(self.addresses.count == 1 ? self.addresses.first?.failure : nil, "\(self)")
    }
}

extension AddressReport {
    var failure: ProbeFailure? {
        guard case .failed(let failure) = self.outcome else { return nil }
        return failure
    }
}
