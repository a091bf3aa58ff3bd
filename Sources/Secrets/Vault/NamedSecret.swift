import PinWire
import Pinning

/// A secret that the ledger names, and that the database should hold sealed.
struct NamedSecret: Hashable, Sendable {
    var kind: StoredSecret.Kind
    var id: String
    var owner: String
    /// The secret's name for people.
    var detail: String

    /// Every secret that a state names, in a fixed order.
    ///
    /// - Parameters:
    ///   - damaged: Streams whose events cannot be read: secrets that they name are left out.
    ///   - now: When the ledger was read; a secret that signs only until then may be missing.
    static func all(in state: LedgerState, damaged: Set<String> = [], at now: Timestamp) -> [NamedSecret] {
        var named: [NamedSecret] = []
        func name(_ kind: StoredSecret.Kind, _ id: String, of owner: String, _ detail: String) {
            named.append(NamedSecret(kind: kind, id: id, owner: owner, detail: detail))
        }
        func isReadable(_ stream: StreamID) -> Bool { !damaged.contains(stream.text) }
        if isReadable(.keys) {
            for key in state.keys.keys.values where key.state != .retired {
                let detail = "the private half of the signing key \(key.kid), which is \(key.state.rawValue),"
                name(.signing, key.kid, of: "", detail)
            }
        }
        if isReadable(.log) {
            for key in state.log.signers {
                name(.signing, key.kid, of: "", "the private half of the log's key \(key.kid)")
            }
        }
        for (id, app) in state.apps {
            if isReadable(.app(id)) {
                for key in app.clients.values.compactMap(\.key) {
                    name(.client, ClientKeys.name(of: key, id), of: id.text, "the private half of a client key")
                }
            }
            if isReadable(.watch(id)) {
                for key in app.watch.telemetryKeys where key.isInUse {
                    name(.telemetry, key.id, of: id.text, "what reports are signed with")
                }
            }
        }
        if isReadable(.webhooks) {
            // Secrets that a node may be erasing at this moment are left out.
            for hook in state.webhooks.hooks.values {
                for secret in hook.secretIDs(at: now.adding(seconds: 60)) {
                    name(.webhook, secret, of: hook.id, "what messages are signed with")
                }
            }
        }
        return named.sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }
    }
}
