import Foundation
import Testing

@testable import pinledger

/// The contract and the command line say the same for the same thing.
@Suite struct `The verb of an operation` {
    /// The command of each operation that changes something, where both have a verb.
    static let commands: [String: String] = [
        "createApp": "app create", "updateApp": "app update", "addHost": "host add", "updateHost": "host update",
        "removeHost": "host remove", "addPin": "pin add", "describeKeys": "pin describe",
        "startCandidate": "rollout start", "dropCandidate": "rollout drop", "promoteCandidate": "rollout promote",
        "setAppRolloutPlan": "rollout plan set", "clearAppRolloutPlan": "rollout plan clear",
        "pauseAppRollout": "rollout pause", "resumeAppRollout": "rollout resume",
        "advanceAppRollout": "rollout advance", "jumpAppRollout": "rollout jump",
        "rollBackAppRollout": "rollout roll-back", "setHostRolloutPlan": "rollout plan set",
        "clearHostRolloutPlan": "rollout plan clear", "pauseHostRollout": "rollout pause",
        "resumeHostRollout": "rollout resume", "advanceHostRollout": "rollout advance",
        "jumpHostRollout": "rollout jump", "rollBackHostRollout": "rollout roll-back",
        "startRotation": "rotation start", "advanceRotation": "rotation advance", "abortRotation": "rotation abort",
        "setClient": "client set", "removeClient": "client remove", "setClientKey": "client set-key",
        "createTelemetryKey": "telemetry key create", "retireTelemetryKey": "telemetry key retire",
        "createCalendarFeed": "calendar feed create", "revokeCalendarFeed": "calendar feed revoke",
        "engageFleetKillSwitch": "kill engage", "releaseFleetKillSwitch": "kill release",
        "engageAppKillSwitch": "kill engage", "releaseAppKillSwitch": "kill release",
        "engageHostKillSwitch": "kill engage", "releaseHostKillSwitch": "kill release",
        "createKey": "key create", "activateKey": "key activate", "retireKey": "key retire",
        "createToken": "token create", "revokeToken": "token revoke", "createWebhook": "webhook create",
        "updateWebhook": "webhook update", "removeWebhook": "webhook remove",
        "rotateWebhookSecret": "webhook rotate-secret", "testWebhook": "webhook test",
        "replayWebhook": "webhook replay", "replayWebhookDelivery": "webhook replay",
        "explain": "explain", "simulate": "simulate", "inspect": "pin inspect", "probe": "probe",
        "importFile": "import", "importRemoteConfig": "import",
    ]

    /// Operations without a command of their own, or that several commands share.
    static let others: Set<String> = ["updatePin", "setGuardRail", "setAppGuardRail", "updateFleet"]

    /// The operations of the operators' part of the contract that change or ask something with a body.
    private static func operations() throws -> [String] {
        let text = try String(contentsOf: SourceTexts.root.appending(path: "openapi/openapi.yaml"), encoding: .utf8)
        var (path, method) = ("", "")
        return text.split(separator: "\n").compactMap { line in
            if line.hasPrefix("  /") { path = String(line.dropFirst(2)) }
            if ["    get:", "    put:", "    post:", "    patch:", "    delete:"].contains(line) {
                method = String(line)
            }
            guard line.hasPrefix("      operationId: "), path.hasPrefix("/v1/"), method != "    get:" else {
                return nil
            }
            return String(line.dropFirst("      operationId: ".count))
        }
    }

    @Test func `every operation has a known verb`() throws {
        let operations = try Self.operations()
        #expect(operations.count > 50)
        #expect(Set(operations) == Set(Self.commands.keys).union(Self.others))
    }

    @Test(arguments: commands.keys.sorted()) func `the verb of an operation is the command's`(operation: String) throws
    {
        let command = try #require(Self.commands[operation])
        #expect(CommandTree.all.contains { $0.description == command }, "there is no command \(command)")
        // `set-key` of a client is `setClientKey`, and `roll-back` is `rollBackAppRollout`.
        let name = command.split(separator: " ").last.map(String.init) ?? ""
        let verb = name == "roll-back" ? "rollBack" : String(name.prefix { $0 != "-" })
        #expect(operation.hasPrefix(verb), "\(operation) and \(command)")
    }
}
