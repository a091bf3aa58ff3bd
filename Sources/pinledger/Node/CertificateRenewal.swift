import Logging
import PinledgerServer
import ServiceLifecycle
import UnixSignals

/// Takes up a renewed certificate: at once on SIGHUP, and within ten seconds after the files have changed.
struct CertificateRenewal: Service {
    let certificate: ServerCertificate
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in await UnixSignalsSequence(trapping: .sighup) { self.reload(isForced: true) }
                }
                group.addTask {
                    while !Task.isCancelled {
                        try? await Task.sleep(for: .seconds(10))
                        self.reload(isForced: false)
                    }
                }
            }
        }
    }

    /// Two small local files: too little to be worth a thread of its own.
    private func reload(isForced: Bool) {
        do {
            guard try self.certificate.reload(isForced: isForced) else { return }
            self.logger.notice("the TLS certificate was read again; new connections get it")
        } catch {
            self.logger.error(
                "the TLS certificate is not replaced: \(error)", metadata: error.advice.map { ["advice": "\($0)"] }
            )
        }
    }
}
