import Glibc
import NIOCore

/// One connection to one address: STARTTLS where it is asked for, then one handshake. Everything happens on its loop.
final class ProbeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias Outcome = Result<PresentedChain, ProbeFailure>

    private enum Phase {
        case connecting
        case talking(any StartTLSDialogue)
        case shakingHands
        case done(Outcome)
    }

    private var phase = Phase.connecting
    private let dialogue: (any StartTLSDialogue)?
    /// Set until the outcome is known: its memory is freed at once then.
    private var handshake: Handshake?
    private var context: ChannelHandlerContext?
    private var promise: EventLoopPromise<Outcome>?

    /// - Parameter promise: Succeeds as soon as there is an outcome and the connection is closed.
    init(dialogue: (any StartTLSDialogue)?, handshake: Handshake, promise: EventLoopPromise<Outcome>) {
        self.dialogue = dialogue
        self.handshake = handshake
        self.promise = promise
    }

    /// Ends the connection, in whatever state it is.
    func giveUp(_ kind: ProbeFailure.Kind, _ reason: String) {
        let stage: ProbeFailure.Stage =
            switch self.phase {
            case .connecting: .connection
            case .talking: .startTLS
            case .shakingHands, .done: .handshake
            }
        let failure = ProbeFailure(stage, kind, reason)
        let isShakingHands = if case .shakingHands = self.phase { true } else { false }
        self.finish(isShakingHands ? self.handshake?.end(failure) ?? .failure(failure) : .failure(failure))
    }

    /// Records that the connection could not be opened.
    func connectionFailed(_ error: any Error) {
        let (kind, reason) = Self.explain(error)
        self.giveUp(kind, reason)
        self.settle()
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        context.channel.closeFuture.assumeIsolated().whenComplete { _ in self.settle() }
        // The probe was given up before the connection was begun.
        if case .done = self.phase { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        guard case .connecting = self.phase else { return }
        guard var dialogue = self.dialogue else { return self.beginHandshake() }
        self.send(dialogue.begin())
        self.phase = .talking(dialogue)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = Self.unwrapInboundIn(data)
        switch self.phase {
        case .talking(var dialogue):
            let step = dialogue.receive(buffer.readableBytesView)
            self.phase = .talking(dialogue)
            switch step {
            case .wait(let bytes): self.send(bytes)
            case .ready(let bytes):
                self.send(bytes)
                self.beginHandshake()
            case .refused(let reason): self.giveUp(.startTLSRefused, reason)
            }
        case .shakingHands:
            if let step = unsafe buffer.withUnsafeReadableBytes({ unsafe self.handshake?.receive($0) }) {
                self.follow(step)
            }
        case .connecting, .done:
            break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.giveUp(.closed, "the host closed the connection")
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let (kind, reason) = Self.explain(error)
        self.giveUp(kind, reason)
    }

    private func beginHandshake() {
        self.phase = .shakingHands
        if let step = self.handshake?.begin() { self.follow(step) }
    }

    private func follow(_ step: Handshake.Step) {
        self.send(step.send)
        if let outcome = step.outcome { self.finish(outcome) }
    }

    private func send(_ bytes: [UInt8]) {
        guard let context = self.context, !bytes.isEmpty else { return }
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func finish(_ outcome: Outcome) {
        if case .done = self.phase { return }
        self.phase = .done(outcome)
        self.handshake = nil
        self.context?.close(promise: nil)
    }

    private func settle() {
        self.giveUp(.closed, "the host closed the connection")
        guard case .done(let outcome) = self.phase, let promise = self.promise else { return }
        self.promise = nil
        promise.succeed(outcome)
    }

    private static func explain(_ error: any Error) -> (ProbeFailure.Kind, String) {
        guard let error = error as? IOError else { return (.closed, "the connection was closed") }
        return switch error.errnoCode {
        case ECONNREFUSED: (.refused, "nothing listens on the port")
        case ECONNRESET, EPIPE, ECONNABORTED: (.reset, "the host reset the connection")
        case ETIMEDOUT: (.timedOut, "the host does not answer")
        case EMFILE, ENFILE, ENOBUFS, ENOMEM, EAGAIN: (.overloaded, "this machine has no more connections to give")
        default: (.unreachable, "no way leads from here to the address (error \(error.errnoCode))")
        }
    }
}
