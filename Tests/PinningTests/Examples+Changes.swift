import Addresses
import PinWire
import Pinning

/// The examples of the stream `audit`, as ``examples`` has them.
let auditExamples: [String: Entry] = {
    guard let near = IPAddress("10.0.0.7"), let far = IPAddress("2001:db8::7") else {
        preconditionFailure("these are addresses")
    }
    let ada = Actor(kind: .token, id: "tok_3", name: "Ada", principalID: "prn_1")
    var denied = AuditRecord(
        actor: ada, address: far, proxy: near, operation: "addPin", app: shop, outcome: .denied, status: 403,
        problem: "permission_denied", time: noon, requestID: "req-1")
    denied.add(
        AuditRecord(
            actor: ada, address: far, proxy: near, operation: "addPin", app: shop, outcome: .denied, status: 403,
            problem: "permission_denied", time: noon.adding(seconds: 9), requestID: "req-2"))
    let scan = AuditRecord(
        actor: nil, address: near, proxy: nil, operation: nil, app: nil, outcome: .denied, status: 404,
        problem: "not_found", time: noon, requestID: "req-3")
    let read = AuditRecord(
        actor: ada, address: near, proxy: nil, operation: "listHistory", app: nil, outcome: .read, status: 200,
        problem: nil, time: noon, requestID: "req-4")
    let event = AuditEvent.requestsAudited(node: "node-1:42", [denied, scan, read], omitted: 7)
    let entry = Entry(
        position: 1500, stream: .audit, streamVersion: 1, time: noon, event: .audit(event),
        origin: Origin(actor: .system))
    return ["RequestsAudited": entry]
}()

/// The examples of the stream `changes`, as ``examples`` has them.
let changeExamples: [String: Entry] = {
    let end = Timestamp(microseconds: 1_770_000_000_250_000)
    let ada = Actor(kind: .token, id: "tok_3", name: "Ada", principalID: "prn_1")
    let bob = Actor(kind: .token, id: "tok_4", name: "Bob", principalID: "prn_2")
    let commands: [Command] = [
        .app(shop, [.addPin(api, .baseline, new(5, .backup)), .setMode(api, .candidate, .reportOnly)]),
        .fleet(.releaseKillSwitch), .keys(.activate(kid: "k2")),
        .access(.grantRole(id: "grt_1", principal: "prn_1", .everywhere(.auditor))),
    ]
    let content = ChangeContent(
        commands: commands, isForced: true, notBefore: end, reason: reason("Ticket 7 “früh”"), plan: sha256([1]))
    let plain = ChangeContent(
        commands: [.app(shop, [.rename("B")])], isForced: false, notBefore: nil, reason: reason("x"),
        plan: sha256([2]))
    let events: [(String, ChangeEvent)] = [
        ("ChangeCreated", .created(id: "chg_1", author: ada, content, expiresAt: end, status: .proposed)),
        ("ChangeCreated.draft", .created(id: "chg_2", author: ada, plain, expiresAt: end, status: .draft)),
        ("ChangeEdited", .edited(id: "chg_1", author: bob, plain, expiresAt: end)),
        ("ChangeProposed", .proposed(id: "chg_2")),
        ("ChangeApproved", .approved(id: "chg_1", approver: bob, contentDigest: sha256([3]))),
        ("ChangeRejected", .rejected(id: "chg_1", by: bob)),
        ("ChangeWithdrawn", .withdrawn(id: "chg_1", by: ada)),
        ("ChangeSuspended", .suspended(id: "chg_1", obstacle: "The app has no host api.example.com.")),
        ("ChangeApplied", .applied(id: "chg_1", by: .system, effects: 4, bypassesApprovals: false)),
        ("ChangeApplied.bypass", .applied(id: "chg_1", by: ada, effects: 1, bypassesApprovals: true)),
        ("ChangeReviewed", .reviewed(id: "chg_1", by: bob)),
        (
            "ChangeApproved.signed",
            .approved(
                id: "chg_1", approver: bob, contentDigest: sha256([3]),
                signature: ApprovalSignature(kid: "kid-1", bytes: sha256([4])))
        ),
    ]
    return Dictionary(
        uniqueKeysWithValues: events.enumerated().map { index, example in
            let entry = Entry(
                position: Int64(1400 + index), stream: .changes, streamVersion: Int64(index + 1), time: noon,
                event: .changes(example.1), origin: Origin(actor: index.isMultiple(of: 2) ? ada : bob)
            )
            return (example.0, entry)
        }
    )
}()
