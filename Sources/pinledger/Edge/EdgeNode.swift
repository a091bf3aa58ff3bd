import Concurrency
import Edge
import Exposition
import Foundation
import LogLines
import Logging
import PinWire
import PinledgerServer
import Publishing
import ServiceLifecycle
import UnixSignals

/// One edge process: everything between its upstream and its sockets, wired together.
struct EdgeNode {
    let configuration: EdgeConfiguration
    let logger: Logger
    private let logLevel: SharedLogLevel
    private let lines = HeldLines()

    init(configuration: EdgeConfiguration) {
        self.configuration = configuration
        let level = SharedLogLevel(configuration.logLevel)
        self.logLevel = level
        self.logger = Logger(label: "pinledger") { [lines] in
            RepeatedLines(configuration.logFormat.handler(label: $0), held: lines, level: level)
        }
    }

    /// Starts, serves until told to stop, and stops in order.
    ///
    /// - Parameter onServing: Called once the clients' listener is bound, with its port.
    func run(onServing: @escaping @Sendable (Int) async -> Void) async throws {
        EventLoops.fitToProcessors()
        let upstream = self.configuration.upstream.open { [logger] address, failure in
            logger.log(.upstreamChanged, ["upstream": "\(address)", "error": "\(failure)"])
        }
        let failure = await self.serve(from: upstream, onServing)
        await upstream.close()
        if let failure { throw failure }
        self.logger.log(.serverStopped)
    }

    private func serve(
        from upstream: Upstream, _ onServing: @escaping @Sendable (Int) async -> Void
    ) async -> (any Error)? {
        let (configuration, logger) = (self.configuration, self.logger)
        let documents = EdgeDocuments(
            table: DocumentTable(clock: Node.clock), keys: configuration.keys, logger: logger, clock: Node.clock)
        let roots = EdgeRoots(
            directory: configuration.stateDirectory, keys: configuration.keys, logger: logger)
        let services = EdgeServices(
            documents: documents, roots: roots, status: EdgeStatus(), reports: ReportQueue(),
            downstream: configuration.downstream, trustedProxies: configuration.trustedProxies,
            caching: configuration.caching, clock: Node.clock, logger: logger, version: Version.text)
        services.health.watch(configuration.certificate)
        let limits = Descriptors.fit(configuration.limits, logger)
        let accessLog: AccessLog?
        do throws(AccessLog.Unusable) {
            accessLog = try configuration.accessLog.map { path throws(AccessLog.Unusable) in
                try AccessLog(path: path, form: configuration.logFormat, metrics: services.metrics, logger: logger)
            }
        } catch { return CommandFailure(error.description, advice: error.advice) }
        let server = Server(
            edge: services, limits: limits, certificate: configuration.certificate, accessLog: accessLog)
        let follower = EdgeFollower(
            upstream: upstream, documents: documents, roots: roots, status: services.status, logger: logger,
            interval: configuration.interval, clock: Node.clock)
        let forwarder = ReportForwarder(queue: services.reports, upstream: upstream, logger: logger)
        // Started first, stopped last.
        var running: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(service: Loop { await self.lines.run() }),
            .init(service: Loop { await accessLog?.run() }),
            .init(service: server.rounds),
        ]
        var lock: StateLock?
        defer { withExtendedLifetime(lock) {} }
        if let directory = configuration.stateDirectory {
            do {
                lock = try StateLock(directory: directory)
                await roots.load()
                let memory = EdgeMemory(
                    directory: directory, documents: documents, logger: logger
                ) { [health = services.health] in health.note(isMemoryKept: $0) }
                try await memory.load()
                if await documents.table.servesAny() { services.status.noteKept() }
                running.append(.init(service: Loop { await memory.run() }))
            } catch let error as EdgeMemory.Unusable {
                return CommandFailure(error.description, advice: error.advice)
            } catch {
                return error
            }
        }
        running.append(.init(service: Loop { await follower.run() }))
        running.append(.init(service: Loop { await forwarder.run() }))
        running.append(
            .init(
                service: FileRenewal(
                    files: self.renewedFiles(documents, follower, server)
                        + (accessLog.map { [.accessLog($0)] } ?? []),
                    logger: logger, health: services.health)))
        var listeners = [
            Server.Listener(
                .client, host: configuration.listen.host, port: configuration.listen.port,
                connections: limits.connections)
        ]
        if let metrics = configuration.metricsListen {
            listeners.append(.init(.metrics, host: metrics.host, port: metrics.port, connections: 64))
        }
        let (bound, binding) = AsyncStream.makeStream(of: (listener: Int, port: Int).self)
        let applications: [any Service] = listeners.enumerated().map { index, listener in
            server.application(for: listener) { binding.yield((index, $0)) }
        }
        running.append(
            .init(
                service: Together(
                    services: applications, patience: .milliseconds(900 * configuration.limits.drainSeconds)
                ) {}))
        let expected = listeners.count
        let manager = ServiceManager(logger: logger)
        running.append(.init(service: Loop { await manager?.run() }))
        running.append(
            .init(
                service: Loop {
                    var ports: [Int: Int] = [:]
                    for await (index, port) in bound {
                        ports[index] = port
                        guard ports.count == expected, let port = ports[0] else { continue }
                        await onServing(port)
                        return manager?.noteReady() ?? ()
                    }
                }))
        running.append(
            .init(
                service: DrainDelay(
                    drain: services.drain, seconds: configuration.drainDelay,
                    drainSeconds: configuration.limits.drainSeconds, logger: logger)))
        var group = ServiceGroupConfiguration(
            services: running, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = .seconds(
            configuration.drainDelay + configuration.limits.drainSeconds + 10)
        do { try await ServiceGroup(configuration: group).run() } catch {
            self.lines.writeHeld(before: nil)
            if !(error is CancellationError) {
                logger.log(.serverFailed, ["error": "\(ErrorText.sentence(for: error))"])
            }
            return error
        }
        return nil
    }

    /// Takes over the settings that a running edge can.
    private func apply(_ settings: SettingsRenewal.Reloaded, to server: Server) {
        self.logLevel.set(settings.logLevel)
        self.configuration.trustedProxies.set(settings.trustedProxies)
        server.apply(settings.limits)
    }

    /// The files that are reloaded when they are replaced.
    private func renewedFiles(
        _ documents: EdgeDocuments, _ follower: EdgeFollower, _ server: Server
    ) -> [FileRenewal.File] {
        let tokens = self.configuration.downstream
        var files: [FileRenewal.File] = []
        if let renewal = self.configuration.renewal {
            files.append(
                .init(name: "the configuration") { isForced throws(FileRenewal.Unusable) in
                    try renewal.reload(isForced: isForced, self.logger) { self.apply($0, to: server) }
                })
        }
        files += [
            .init(name: "the trusted keys", isReadEachTime: true) { isForced throws(FileRenewal.Unusable) in
                let isNew: Bool
                do throws(TrustedKeys.Unusable) { isNew = try documents.keys.reload(isForced: isForced) } catch {
                    throw FileRenewal.Unusable(reason: error.description, advice: error.advice)
                }
                guard isNew else { return false }
                documents.takeOverKeys()
                // What was refused for its key may be served now.
                follower.askNow()
                return true
            },
            .init(name: "the downstream tokens", isReadEachTime: true) { isForced throws(FileRenewal.Unusable) in
                do throws(DownstreamTokens.Unusable) { return try tokens.reload(isForced: isForced) } catch {
                    throw FileRenewal.Unusable(reason: error.description, advice: error.advice)
                }
            },
        ]
        if let certificate = self.configuration.certificate { files.append(.certificate(certificate)) }
        return files
    }
}
