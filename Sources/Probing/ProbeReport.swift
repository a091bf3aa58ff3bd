package import Addresses

/// The result of one probe at each address of its target.
package struct ProbeReport: Hashable, Sendable {
    package var target: ProbeTarget
    /// In the order in which they were tried; empty if there is a ``failure``.
    package var addresses: [AddressReport]
    /// Addresses beyond ``ProbeOptions/maximumAddresses``, about which nothing is known.
    package var omitted: [IPAddress]
    /// Why no address was tried at all.
    package var failure: ProbeFailure?

    package init(
        target: ProbeTarget, addresses: [AddressReport] = [], omitted: [IPAddress] = [], failure: ProbeFailure? = nil
    ) {
        self.target = target
        self.addresses = addresses
        self.omitted = omitted
        self.failure = failure
    }

    /// Every chain that was served, without repetition.
    package var chains: [PresentedChain] {
        var chains: [PresentedChain] = []
        for case .served(let service) in self.addresses.map(\.outcome) {
            for chain in service.chains where !chains.contains(where: { $0.certificates == chain.certificates }) {
                chains.append(chain)
            }
        }
        return chains
    }

    /// Whether the report is about the host, rather than about this machine, its network or its policy.
    package var isEvidence: Bool {
        if let failure { return failure.isEvidence }
        return self.addresses.contains { address in
            switch address.outcome {
            case .served: true
            case .failed(let failure): failure.isEvidence
            }
        }
    }
}

/// The result at one address.
package struct AddressReport: Hashable, Sendable {
    /// Chains, or why there are none.
    package enum Outcome: Hashable, Sendable {
        case served(ServedChains)
        case failed(ProbeFailure)
    }

    package var address: IPAddress
    package var outcome: Outcome

    package init(address: IPAddress, outcome: Outcome) {
        self.address = address
        self.outcome = outcome
    }
}

/// The chains of one address.
package struct ServedChains: Hashable, Sendable {
    /// Whether there is a chain for keys of the other kind (RSA, or elliptic curves), too.
    package enum OtherKind: Hashable, Sendable {
        /// It is the second of ``chains``.
        case served
        /// The host declined to serve one.
        case absent
        /// The question failed.
        case unknown(ProbeFailure)
        /// The options did not ask for it.
        case notAsked
    }

    /// One chain, or two with leaves of different kinds; the host's preferred one comes first.
    package var chains: [PresentedChain]
    package var otherKind: OtherKind

    package init(chains: [PresentedChain], otherKind: OtherKind) {
        self.chains = chains
        self.otherKind = otherKind
    }
}
