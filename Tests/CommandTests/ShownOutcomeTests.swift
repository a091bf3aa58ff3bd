import PinWire
import Testing

@testable import pinledger

@Suite struct `The outcome of an audited request` {
    private static let apps: Set = ["com.example.shop"]

    @Test(
        arguments: [
            (["outcome": "denied", "problem": "permission_denied"], .denied),
            (["outcome": "refused", "problem": "guard_rail"], .refused),
            (["outcome": "refused", "problem": "approvals_missing"], .refused),
            (["outcome": "refused", "problem": "frozen"], .refused),
            (["outcome": "refused", "problem": "invalid_value"], .mistyped),
            (["outcome": "refused", "problem": "malformed_request"], .mistyped),
            (["outcome": "denied", "problem": "host_unknown", "app": "com.example.shop"], .mistyped),
            (["outcome": "denied", "problem": "not_found"], .mistyped),
            // The app is there, and hidden from who asked.
            (["outcome": "denied", "problem": "app_unknown", "app": "com.example.shop"], .denied),
            (["outcome": "denied", "problem": "app_unknown", "app": "com.example.shpo"], .mistyped),
            (["outcome": "denied", "problem": "app_unknown"], .mistyped),
            // Names that may be hidden from who asked.
            (["outcome": "denied", "problem": "change_unknown"], .denied),
            (["outcome": "denied", "problem": "token_unknown"], .denied),
            (["outcome": "denied", "problem": "grant_unknown"], .denied),
            (["outcome": "denied", "problem": "approval_rule_unknown"], .denied),
            (["outcome": "denied", "problem": "freeze_unknown"], .denied),
            (["outcome": "denied", "problem": "role_unknown"], .mistyped),
            (["outcome": "refused", "problem": "of_a_later_server"], .refused),
            (["outcome": "unauthenticated", "problem": "token_missing"], .unauthenticated),
            (["outcome": "read"], .read), (["outcome": "failed", "problem": "internal_error"], .failed),
        ] as [(JSON, ShownOutcome)])
    func `a request that a right or a rule refused is told from a mistyped one`(record: JSON, outcome: ShownOutcome) {
        #expect(ShownOutcome(of: record, apps: Self.apps) == outcome)
    }

    @Test(
        arguments: [
            ([["permission": "apps.read", "everywhere": true]], true),
            (
                [["permission": "apps.read", "everywhere": false], ["permission": "audit.read", "everywhere": true]],
                false
            ),
            ([["permission": "audit.read", "everywhere": true]], false), ([], false),
        ] as [([JSON], Bool)])
    func `the list of apps is complete for an auditor who may read all of them alone`(
        permissions: [JSON], isComplete: Bool
    ) {
        #expect(AuditRequestsCommand.seesAllApps(["permissions": .array(permissions)]) == isComplete)
    }

    @Test func `an app that may be there is not taken for a mistyped one`() {
        let record: JSON = ["outcome": "denied", "problem": "app_unknown", "app": "com.example.shpo"]
        #expect(ShownOutcome(of: record, apps: nil) == .denied)
        #expect(ShownOutcome(of: ["outcome": "new"], apps: nil) == nil)
    }
}
