import PinWire
import Pinning
import Testing

@testable import EventStore

@Suite struct `Approvals in an audit` {
    private static let noon = Timestamp(seconds: 1_700_000_000)
    private static let digest = [UInt8](repeating: 7, count: 32)
    private static let ada = Actor(kind: .token, id: "tok_1", name: "Ada", principalID: "prn_1")
    /// What a stand-in for a key signs: the key's number, and the statement.
    private static func signature(_ number: UInt8, of change: String = "chg_1") -> ApprovalSignature {
        let statement = ApprovalSignature.statement(change: change, contentDigest: Self.digest, principal: "prn_1")
        return ApprovalSignature(kid: "k\(number)", bytes: [number] + statement)
    }

    private static let verifier = ApprovalVerifier {
        $0.first.map { "k\($0)" }
    } _: { signature, statement, publicKey in
        signature.bytes == publicKey.prefix(1) + statement
    }

    private static func approved(_ signature: ApprovalSignature?) -> Event {
        .changes(.approved(id: "chg_1", approver: Self.ada, contentDigest: Self.digest, signature: signature))
    }

    private static func added(_ number: UInt8) -> Event {
        .access(
            .approvalKeyAdded(
                ApprovalKey(kid: "k\(number)", publicKey: [UInt8](repeating: number, count: 32)), principal: "prn_1"))
    }

    static let table: [(String, [Event], String?)] = [
        ("without keys", [approved(nil)], nil),
        ("before there was a key", [approved(nil), added(1)], nil),
        ("signed", [added(1), approved(signature(1))], nil),
        (
            "unsigned", [added(1), approved(nil)],
            "the approval of chg_1 is not signed, although prn_1 has an approval key"
        ),
        (
            "signed with an unknown key", [added(1), approved(signature(2))],
            "the approval of chg_1 is signed with a key that prn_1 does not have"
        ),
        (
            "signed with a removed key",
            [added(1), .access(.approvalKeyRemoved(kid: "k1", principal: "prn_1")), approved(signature(1))],
            "the approval of chg_1 is signed with a key that prn_1 does not have"
        ),
        (
            "with a key under the name of another one",
            [
                added(1),
                .access(
                    .approvalKeyAdded(
                        ApprovalKey(kid: "k1", publicKey: [UInt8](repeating: 9, count: 32)), principal: "prn_1")),
            ], "the approval key k1 of prn_1 has the name of another key"
        ),
        (
            "signed for another change", [added(1), approved(signature(1, of: "chg_2"))],
            "the signature of the approval of chg_1 by prn_1 does not verify"
        ),
    ]

    @Test(arguments: table)
    func `an approval that its giver did not sign as it must be is found`(
        name: String, events: [Event], defect: String?
    ) {
        var check = EventCheck(approvals: Self.verifier)
        var found: [LedgerFinding] = []
        var versions: [StreamID: Int64] = [:]
        let first = Event.access(.principalAdded(id: "prn_1", .person, name: "Ada"))
        for (position, event) in ([first] + events).enumerated() {
            let stream: StreamID = if case .changes = event { .changes } else { .access }
            versions[stream, default: 0] += 1
            let entry = Entry(
                position: Int64(position), stream: stream, streamVersion: versions[stream] ?? 0, time: Self.noon,
                event: event, origin: Origin(actor: Self.ada))
            let step = ReplayedEvent(entry)
            // A page of one event is folded at once, and looked at again where that fails.
            var paged = check
            let isFitting = paged.fold([step], ends: [stream: 0]) == 1
            let findings = check.take(entry, at: Int64(position))
            #expect(isFitting == findings.isEmpty)
            found += findings
        }
        #expect(found.map(\.detail) == (defect.map { [$0] } ?? []) && found.allSatisfy { $0.code == .approvalWrong })
    }

    @Test func `an audit without a verifier ignores signatures`() {
        #expect(EventCheck().isSound)
        var check = EventCheck()
        let entry = Entry(
            position: 0, stream: .changes, streamVersion: 1, time: Self.noon, event: Self.approved(Self.signature(1)),
            origin: Origin(actor: Self.ada))
        #expect(check.take(entry, at: 0).isEmpty)
    }
}
