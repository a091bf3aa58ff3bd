import Concurrency
import Countries
import LogLines
import Logging
import NIOPosix
import PinledgerServer
import ServiceLifecycle
import UnixSignals

/// Reloads replaced files: at once on SIGHUP, and within ten seconds after they have changed. Without files it takes SIGHUP,
/// and does nothing.
struct FileRenewal: Service {
    /// A file, or several that belong together.
    struct File: Sendable {
        /// The name for people, with an article.
        let name: String
        /// True where the file is read each time: one that is not new is as good as the one in use.
        var isReadEachTime = false
        /// Reads it again if it was replaced, or in any case with true; returns whether it was read.
        let reload: @Sendable (Bool) throws(Unusable) -> Bool
    }

    /// Why a file was not reloaded. The earlier contents stay in use.
    struct Unusable: Error {
        var reason: String
        var advice: String?
    }

    let files: [File]
    let logger: Logger
    let health: NodeHealth

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in await UnixSignalsSequence(trapping: .sighup) { await self.reload(isForced: true) }
                }
                group.addTask {
                    await PeriodicWorker(every: .seconds(10), first: .afterInterval).run {
                        await self.reload(isForced: false)
                    }
                }
            }
        }
    }

    private func reload(isForced: Bool) async {
        for file in self.files {
            // Fails for a pool that has ended: then the process ends too.
            try? await NIOThreadPool.singleton.runIfActive { self.reload(file, isForced: isForced) }
        }
    }

    private func reload(_ file: File, isForced: Bool) {
        do {
            let isNew = try file.reload(isForced)
            if isNew || file.isReadEachTime { self.health.note(file.name, isRefused: false) }
            guard isNew else { return }
            self.logger.log(.fileReloaded, ["file": "\(file.name)"])
        } catch {
            self.health.note(file.name, isRefused: true)
            var details: Logger.Metadata = ["file": "\(file.name)", "error": "\(error.reason)"]
            if let advice = error.advice { details["advice"] = "\(advice)" }
            self.logger.log(.fileRefused, details)
        }
    }
}

extension FileRenewal.File {
    static func certificate(_ certificate: ServerCertificate) -> Self {
        Self(name: "the TLS certificate") { isForced throws(FileRenewal.Unusable) in
            do throws(ServerCertificate.Unusable) { return try certificate.reload(isForced: isForced) } catch {
                throw FileRenewal.Unusable(reason: error.description, advice: error.advice)
            }
        }
    }
}

extension FileRenewal.File {
    static func accessLog(_ log: AccessLog) -> Self {
        Self(name: "the access log") { isForced throws(FileRenewal.Unusable) in
            do throws(AccessLog.Unusable) { return try log.reopen(isForced: isForced) } catch {
                throw FileRenewal.Unusable(reason: error.description, advice: error.advice)
            }
        }
    }
}

extension Node {
    /// The files that are reloaded when they are replaced.
    func renewedFiles(of server: Server, _ accessLog: AccessLog?) -> [FileRenewal.File] {
        var files: [FileRenewal.File] = []
        if let renewal = self.configuration.renewal {
            files.append(
                .init(name: "the configuration") { isForced throws(FileRenewal.Unusable) in
                    try renewal.reload(isForced: isForced, self.logger) { self.apply($0, to: server) }
                })
        }
        if let certificate = self.configuration.certificate { files.append(.certificate(certificate)) }
        if let accessLog { files.append(.accessLog(accessLog)) }
        if let countries = self.configuration.countryDatabase {
            files.append(
                .init(name: "the country database") { isForced throws(FileRenewal.Unusable) in
                    do throws(CountryDatabase.Failure) { return try countries.reload(isForced: isForced) } catch {
                        throw FileRenewal.Unusable(reason: error.description, advice: error.advice)
                    }
                })
        }
        return files
    }
}
