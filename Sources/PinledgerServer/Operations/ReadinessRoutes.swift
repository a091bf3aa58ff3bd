import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing
import Secrets

/// Whether a node should get traffic: `/readyz`.
struct ReadinessRoutes: Sendable {
    let services: Services
    let push: DocumentPush

    var routes: [Route] {
        [
            Route(
                "getReadiness", .get, "/readyz", surface: .both, access: .optionalToken, needsNoLedger: true,
                query: ["for"], self.readiness)
        ]
    }

    /// Whether this node should get traffic of one kind; operators are told more.
    private func readiness(_ exchange: Exchange) async throws -> Response {
        let name = exchange.query["for"] ?? Readiness.Use.serves.rawValue
        guard let use = Readiness.Use(rawValue: name) else { throw Readiness.Use.unknown }
        let readiness = Readiness(self.services)
        var members = readiness.members(for: use)
        if exchange.isOperators {
            members["status"] = .string(readiness.status(for: use))
            members.merge(self.details(readiness)) { _, detail in detail }
            // How many apps there are, and which have secrets, is the business of those who see all of them. A node that still reads the ledger cannot
            // tell who does, and what it has read is all that there is to see of its progress.
            if self.services.ledger.unread == nil, !exchange.rights.allowsEverywhere(.readApps) {
                for name in ["apps", "documents", "secret_faults"] { members[name] = nil }
            }
        }
        return .json(.object(members), status: readiness.allows(use) ? .ok : .serviceUnavailable)
    }

    /// The most secrets that are named.
    private static let faultLimit = 20

    /// What is nobody's business but operators'.
    private func details(_ readiness: Readiness) -> [String: JSON] {
        let ledger = self.services.ledger
        let view = ledger.view
        var details: [String: JSON] = [
            "position": .integer(view.head.position),
            "apps": .integer(Int64(view.state.apps.count)),
            "documents": .integer(Int64(self.services.publisher.table.count)),
            "documents_behind": .integer(Int64(self.services.lag.count)),
            "client_streams": .integer(Int64(self.push.count)),
            "read_only": .bool(self.services.writer == nil),
            "can_sign": .bool(self.services.keys.canSign),
            "can_write": .bool(readiness.writes),
        ]
        details["signing_key_fault"] = self.services.keys.trouble.map { .string($0) }
        let faults = self.services.secretFaults.all
        if !faults.isEmpty {
            details["secret_faults"] = .array(faults.prefix(Self.faultLimit).map { .string($0.description) })
        }
        details["key_encryption_key"] = ledger.keyName.map { .string($0) }
        details["write_failure"] = self.services.writeFailure.map { .string($0) }
        details["fault"] = (ledger.fault ?? ledger.unread ?? ledger.unsigned).map { .string($0.description) }
        if view.head.isAhead(of: self.services.clock()) {
            details["ledger_ahead_until"] = .string(view.head.lastTime.rfc3339)
        }
        details["suspension"] = ledger.suspension.map { .string($0) }
        return details
    }
}

extension Readiness.Use {
    /// The refusal of a use that there is not.
    static var unknown: Problem {
        let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
        return Problem(.malformedRequest, "The query parameter `for` must be one of \(known).")
    }
}
