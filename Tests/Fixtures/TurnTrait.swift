package import Testing

/// Lets a test begin when few others run that open connections, files and threads: all at once, as tests begin, they
/// would use up what a process may have, and starve each other into time-outs.
package struct TurnTrait: TestTrait, SuiteTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Turnstile.shared.pass(function)
    }
}

extension Trait where Self == TurnTrait {
    /// For tests that open connections; those with a ``DatabaseTrait`` take turns already.
    package static var takingTurns: Self { TurnTrait() }
}
