/// The handler next to the socket, as the handlers behind it and the event loop see it.
protocol ConnectionFront: AnyObject {
    /// The connection's place in ``EventLoopState``, which sets it.
    var indexInLoop: Int? { get set }

    /// Closes the connection where one of its time limits has passed. ``EventLoopState`` calls it in every round.
    func checkDeadlines()

    // MARK: What HTTP1Rules tells

    /// A head has ended, or an answer to it is still being written.
    func isAnswering()

    /// Everything that was asked is answered.
    func isWaiting()

    /// A request was answered to the end.
    func hasAnswered()

    /// Calls back once all that was written is sent, or cannot be sent any more.
    func afterWrites(_ then: @escaping () -> Void)
}
