import PinWire

// The state holds facts about keys and certificates. Their bytes are stored elsewhere, under digests.

extension LedgerState {
    /// Those of `digests` by which no app knows a key or a certificate, and no open change would make one known.
    package func unnamed(_ digests: Set<[UInt8]>) -> Set<[UInt8]> {
        var rest = digests
        for app in self.apps.values where !rest.isEmpty {
            for knowledge in app.keys.values { rest.subtract(knowledge.digests) }
            // Pins without further facts, because the app knows as many keys as it may.
            for host in app.hosts.values {
                for slot in PolicySlot.allCases {
                    for pin in host[slot]?.pins.keys ?? [] { rest.remove(pin.bytes) }
                }
            }
        }
        for change in self.changes.changes.values where change.recordedStatus.isOpen && !rest.isEmpty {
            for case .app(_, let commands) in change.content.commands {
                for command in commands { rest.subtract(command.materialDigests) }
            }
        }
        return rest
    }
}

extension AppCommand {
    /// The digests of the keys and certificates that it would make known.
    fileprivate var materialDigests: Set<[UInt8]> {
        let pins: [NewPin] =
            switch self {
            case .addPin(_, _, let pin): [pin]
            case .addHost(_, _, _, let pins), .startCandidate(_, _, _, let pins): pins
            case .startRotation(let rotation): [rotation.next]
            case .create, .rename, .setVersionGate, .setRollout, .setFallback, .setMonitoring, .setPinsValidUntil,
                .archive, .unarchive, .setSubdomains, .removeHost, .setMode, .promoteCandidate, .dropCandidate,
                .setHostRollout, .rollout, .activatePin, .setPinRole, .retirePin, .revokePin, .engageKillSwitch,
                .releaseKillSwitch, .engageVersionKillSwitch, .releaseVersionKillSwitch, .setEndpoints, .describeKeys,
                .setGuardRail, .advanceRotation, .abortRotation, .setClient, .removeClient, .setClientKey,
                .noteBuiltIn, .react, .revert:
                []
            }
        var evidence = pins.compactMap(\.evidence)
        if case .describeKeys(let keys) = self { evidence += keys }
        return evidence.reduce(into: Set(pins.map(\.pin.bytes))) { $0.formUnion(KeyKnowledge($1).digests) }
    }
}
