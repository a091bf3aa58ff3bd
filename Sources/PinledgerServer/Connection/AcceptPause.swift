import Glibc
import Logging
import NIOCore

/// Pauses a listener when the system has no file descriptors or memory for another connection.
///
/// The socket stays readable for as long as a connection waits to be accepted, so that repeated attempts would keep a
/// core busy with failing. It comes first in the listener's pipeline, so that no such error ends it.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let log: LimitedLog
    private var isPaused = false

    private static let pause = TimeAmount.milliseconds(500)

    init(log: LimitedLog) {
        self.log = log
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        guard !self.isPaused else { return }
        self.isPaused = true
        self.log.log(.failedAcceptance, ["error": "\(error)"])
        let channel = context.channel
        // Takes the socket out of the poll; a read that is merely withheld would leave it there.
        channel.setOption(.autoRead, value: false).assumeIsolated().whenSuccess {
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
                self.isPaused = false
                channel.setOption(.autoRead, value: true).whenFailure { _ in }
            }
        }
    }
}
