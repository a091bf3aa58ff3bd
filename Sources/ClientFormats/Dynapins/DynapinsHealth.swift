package import Pinning

/// The answers under `/health` and `/readiness`, as the Dynapins server gives them to monitoring.
package enum DynapinsHealth: Hashable, Sendable {
    /// `/health`: the process answers.
    case healthy
    /// `/readiness`: requests can be answered.
    ///
    /// `domainCount` is the number of host patterns with pins, `keyID` names the signing key.
    case ready(domainCount: Int, keyID: String)
    /// `/readiness`: they cannot, for this reason.
    case notReady(reason: String)

    /// `/readiness` for the clients of an app.
    ///
    /// - Parameter keyID: The id of the signing key; nil where there is none.
    package static func readiness(of view: ClientView, keyID: String?) -> DynapinsHealth {
        guard let keyID else { return .notReady(reason: "crypto keys not initialized") }
        return .ready(domainCount: view.hosts.count { $0.mode != nil }, keyID: keyID)
    }

    /// The answer.
    package var reply: FormatReply {
        switch self {
        case .healthy: FormatReply(["status": "healthy"])
        case .ready(let domainCount, let keyID):
            FormatReply([
                "status": "ready", "allowed_domains": .integer(Int64(domainCount)), "key_id": .string(keyID),
            ])
        case .notReady(let reason): FormatReply(status: 503, ["status": "not ready", "reason": .string(reason)])
        }
    }
}
