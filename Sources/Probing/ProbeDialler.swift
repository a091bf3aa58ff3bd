import Addresses
import NIOCore
import NIOPosix
import PinWire

/// Opens the connections of a ``Prober``, all on its one loop.
struct ProbeDialler: Sendable {
    let loop: any EventLoop
    let tls: TLSContext
    let policy: AddressPolicy
    let now: @Sendable () -> Timestamp

    /// Connects, runs the dialogue and the handshake within `timeout`, and returns when the connection is closed again.
    func attempt(
        _ address: IPAddress, of target: ProbeTarget, _ choice: KeyChoice, timeout: Duration, options: ProbeOptions
    ) async -> Result<PresentedChain, ProbeFailure> {
        let cancellation = NIOLoopBoundBox.makeBoxSendingValue(Cancellation(), eventLoop: self.loop)
        let attempt = { @Sendable () -> EventLoopFuture<ProbeHandler.Outcome> in
            do {
                return try self.start(address, target, choice, timeout, options, cancellation)
            } catch {
                return self.loop.makeSucceededFuture(
                    .failure(ProbeFailure(.connection, .overloaded, "no connection can be made: \(error)")))
            }
        }
        return await withTaskCancellationHandler {
            do {
                return try await self.loop.flatSubmit(attempt).get()
            } catch {
                // The loop has been closed.
                return .failure(ProbeFailure(.connection, .cancelled, "the prober has been closed"))
            }
        } onCancel: {
            self.loop.execute { cancellation.value.cancel() }
        }
    }

    /// A cancellation comes before the connection is begun, or has a handler to end.
    private struct Cancellation {
        private var isCancelled = false
        private var handler: ProbeHandler?

        mutating func begin(_ handler: ProbeHandler) {
            self.handler = handler
            if self.isCancelled { self.cancel() }
        }

        mutating func cancel() {
            self.isCancelled = true
            self.handler?.giveUp(.cancelled, "the probe was cancelled")
        }
    }

    private func start(
        _ address: IPAddress, _ target: ProbeTarget, _ choice: KeyChoice, _ timeout: Duration, _ options: ProbeOptions,
        _ cancellation: NIOLoopBoundBox<Cancellation>
    ) throws -> EventLoopFuture<ProbeHandler.Outcome> {
        let destination = try address.socketAddress(port: target.port)
        // Checked again here, for exactly the address that the next lines connect to.
        if let reason = self.policy.refusal(of: destination) {
            return self.loop.makeSucceededFuture(.failure(.blocked(address, reason)))
        }
        let handshake = try Handshake(
            context: self.tls, choice: choice, name: target.requestedName, address: address,
            applicationProtocols: options.applicationProtocols, time: self.now())
        let promise = self.loop.makePromise(of: ProbeHandler.Outcome.self)
        let handler = ProbeHandler(
            dialogue: target.startTLS?.dialogue,
            handshake: handshake, promise: promise)
        let timer = self.loop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) {
            handler.giveUp(.timedOut, "the host took longer than \(options.addressTimeout.text)")
        }
        let bound = NIOLoopBound(handler, eventLoop: self.loop)
        ClientBootstrap(group: self.loop)
            // The timer above covers it.
            .connectTimeout(TimeAmount(timeout) + .seconds(10))
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 16 * 1024))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(bound.value) }
            }
            .connect(to: destination)
            .assumeIsolated().whenFailure { handler.connectionFailed($0) }
        cancellation.value.begin(handler)
        return promise.futureResult.always { _ in timer.cancel() }
    }
}

extension ProbeFailure {
    static func blocked(_ address: IPAddress, _ reason: String) -> ProbeFailure {
        ProbeFailure(.connection, .blocked, "\(address) \(reason)")
    }
}
