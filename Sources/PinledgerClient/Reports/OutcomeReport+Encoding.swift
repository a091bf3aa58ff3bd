package import PinWire

extension OutcomeReport {
    /// The report of a connection; nil for one that is not reported.
    ///
    /// - Parameters:
    ///   - decision: What the document said of the host: names that it does not cover never leave the device.
    ///   - chain: The pins of the validated chain; nothing where the platform refused it.
    package init?(
        host: String, outcome: ConnectionOutcome, decision: DeviceDecision, version: Int64, chain: [Pin],
        at time: Timestamp
    ) {
        guard decision.reason != .hostUnknown, let name = HostPattern.canonical(host) else { return nil }
        var served: [Pin] = []
        switch outcome {
        case .success, .unpinned, .failure(.chainInvalid), .failure(.hostMismatch), .failure(.other): break
        case .failure(.pinMismatch), .failure(.reportOnlyMismatch), .failure(.expiredPins):
            served = Array(chain.prefix(Self.pinLimit))
        }
        self.init(
            host: name, outcome: outcome, servedPins: served, arm: decision.arm, documentVersion: version,
            time: time.wholeSeconds)
    }

    /// The members of an outcome as the page `telemetry` lists them.
    var json: JSON {
        guard case .object(var members) = self.identity else { return self.identity }
        members["count"] = .integer(self.count)
        members["time"] = self.time.map { .string($0.rfc3339) }
        members["id"] = self.id.map { .string($0) }
        return .object(members)
    }

    /// The members by which outcomes of one day are the same.
    private var identity: JSON {
        let (outcome, reason): (String, OutcomeReason?) =
            switch self.outcome {
            case .success: ("success", nil)
            case .unpinned: ("unpinned", nil)
            case .failure(let reason): ("failure", reason)
            }
        return .members([
            "host": .string(self.host),
            "outcome": .string(outcome),
            "reason": reason.map { .string($0.rawValue) },
            "arm": self.arm.map { .string($0.rawValue) },
            "document_version": .integer(self.documentVersion),
            "served_spki": self.servedPins.isEmpty ? nil : .array(self.servedPins.map { .string($0.description) }),
        ])
    }

    /// The same for all connections of an install with this outcome on one day: a server that has counted it does not count it again.
    func id(on day: ReportDay, of install: InstallID) -> String {
        let parts: [[UInt8]] = [
            Array("pinledger-reports/v1/id".utf8), install.bytes, Array(day.text.utf8), self.identity.canonicalBytes,
        ]
        return Base64URL.encode(sha256(Array(parts.joined(separator: [0]))).prefix(16))
    }
}

extension ConnectionVerdict {
    /// What is reported of it; nil for nothing.
    package var reported: ConnectionOutcome? {
        switch self.result {
        case .matched: .success
        case .mismatched: .failure(.reportOnlyMismatch)
        case .refused: .failure(.pinMismatch)
        case .refusedExpired: .failure(.expiredPins)
        case .unpinned: self.decision?.reason == .pinsExpired ? .unpinned : nil
        case .refusedWithoutDocument, .refusedHost: nil
        }
    }
}
