import ArgumentParser
import Testing

@testable import pinledger

@Suite struct `The id of a key on the command line` {
    static let kids = [
        "2ybXELQeodz937aPp7e0QYFAsc8mm4_twQhDKLlP5NI",
        "-Yi0qrzTgMJ7zGF8sI5IpKoUT4ieyHsIWbSK5k_AbwA",
        "--i0qrzTgMJ7zGF8sI5IpKoUT4ieyHsIWbSK5k_AbwA",
    ]

    @Test(arguments: Self.kids)
    func `A thumbprint is a value, whatever it begins with`(kid: String) async throws {
        let retired = try await Self.parse(["key", "retire", kid, "--reason", "leaked"])
        #expect((retired as? KeyCommands.Retire)?.kid.text == kid)
        let activated = try await Self.parse(["key", "activate", "--reason", "yearly", kid])
        #expect((activated as? KeyCommands.Activate)?.kid.text == kid)
        let removed = try await Self.parse(["access", "approval-key", "remove", "prn_4kQ9sXb2Lw8ZtR7c", kid])
        #expect((removed as? ApprovalKeyCommands.Remove)?.kid.text == kid)
        #expect((removed as? ApprovalKeyCommands.Remove)?.id == "prn_4kQ9sXb2Lw8ZtR7c")
        let ofLog = try await Self.parse(["log", "key", "retire", "--", kid])
        #expect((ofLog as? LogCommands.Key.Retire)?.kid.text == kid)
    }

    @Test func `Options stay options`() async {
        let line = ["key", "retire", "-o", "json", "--reason=a-reason-of-more-than-forty-three-characters"]
        #expect(KeyIDArgument.marking(line) == line)
        await #expect(throws: (any Error).self) { try await Self.parse(["key", "retire", "-x"]) }
    }

    private static func parse(_ words: [String]) async throws -> any ParsableCommand {
        try await Pinledger.asyncParseAsRoot(KeyIDArgument.marking(words))
    }
}
