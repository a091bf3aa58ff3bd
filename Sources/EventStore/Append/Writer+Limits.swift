import Glibc

extension Writer {
    /// The writer's limits.
    package struct Limits: Sendable {
        /// The number of commands that may wait.
        package var queue = 2000
        /// The number of commands in one batch.
        package var batch = 512
        /// How often one batch is decided again because another node was first.
        package var attempts = 20
        /// The longest that a sender waits; twice that for a large command. A command that is on its way by then may still be recorded.
        package var answer = Duration.seconds(5)
        /// How long a command may wait for its batch to be sent.
        package var patience = Duration.milliseconds(2500)
        /// How long one batch's decisions may take: who comes behind them waits for that. One that takes longer is alone.
        package var deciding = Duration.milliseconds(20)
        /// How long one batch's decisions on urgent commands may take. One that takes longer is alone.
        package var decidingUrgent = Duration.milliseconds(100)
        /// How many hosts and single commands a decision looks at (``LedgerState/weight(of:)``) that is made beside the line.
        package var largeWeight = 200
        /// How many decisions are made beside the line at the same time.
        package var largeDecisions = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2)
        /// How many commands may wait for that, half of them of one sender.
        package var largeWaiting = 64
        /// How long to look for the outcome of a batch whose connection broke.
        package var settling = Duration.milliseconds(1500)

        package init() {}
    }
}
