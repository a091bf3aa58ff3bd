extension Writer {
    /// The writer's limits.
    package struct Limits: Sendable {
        /// The number of commands that may wait.
        package var queue = 2000
        /// The number of commands in one batch.
        package var batch = 512
        /// How often one batch is decided again because another node was first.
        package var attempts = 20
        /// The longest that a sender waits. A command that is on its way by then may still be recorded.
        package var answer = Duration.seconds(5)
        /// How long a command may wait for its batch to be sent.
        package var patience = Duration.milliseconds(2500)
        /// How long to look for the outcome of a batch whose connection broke.
        package var settling = Duration.milliseconds(1500)

        package init() {}
    }
}
