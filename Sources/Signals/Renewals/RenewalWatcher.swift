import Concurrency
import KeyFiles
import LogLines
package import Logging
package import PinWire
import Pinning
import Synchronization

/// Asks the authorities of the certificates that this node's probes see when to renew them (ACME renewal information, RFC 9773), and
/// reads what other nodes were told.
///
/// An authority may ask for a certificate to be replaced early, because it has to revoke it: with pins, that needs more time than
/// elsewhere. If the process dies, the next one asks again after its first probes.
package final class RenewalWatcher: Sendable {
    /// The answer to a GET request.
    package struct Answer: Sendable {
        package var status: Int
        /// Seconds, from `Retry-After`; nil where there is none.
        package var retryAfter: Double?
        package var body: [UInt8]

        package init(status: Int, retryAfter: Double?, body: [UInt8]) {
            self.status = status
            self.retryAfter = retryAfter
            self.body = body
        }
    }

    /// A certificate that a probe saw.
    private struct Watched: Sendable {
        /// Its identifier at its authority.
        let identifier: String
        let notAfter: Timestamp
        var due: Timestamp
    }

    private let directories: [String]
    private let summary: RenewalSummary
    private let store: RenewalStore
    private let records: Bool
    private let get: @Sendable (String) async throws -> Answer
    private let clock: @Sendable () -> Timestamp
    private let logger: Logger
    private let watched = Mutex<[[UInt8]: Watched]>([:])
    private let readUntil = Mutex<Timestamp?>(nil)

    /// The most certificates that are asked about.
    private static let limit = 10_000
    /// Bytes of a directory and of an answer.
    package static let bodyLimit = 64 * 1024
    /// Seconds between two questions about a certificate: as the authority says, within these bounds (RFC 9773, section 4.3.3), or the middle
    /// one where it says nothing.
    private static let (shortest, usual, longest): (Double, Double, Double) = (60, 21_600, 86_400)
    /// Seconds until an authority that did not answer is asked again.
    private static let patience: Double = 600

    /// - Parameters:
    ///   - directories: The directories of ACME servers (RFC 8555, section 7.1.1); with none, it asks nobody.
    ///   - records: Whether it may write to the database.
    ///   - get: Sends a GET request; at most ``bodyLimit`` and one bytes of the answer count.
    package init(
        directories: [String], summary: RenewalSummary, store: RenewalStore, records: Bool, logger: Logger,
        clock: @escaping @Sendable () -> Timestamp, get: @escaping @Sendable (String) async throws -> Answer
    ) {
        self.directories = directories
        self.summary = summary
        self.store = store
        self.records = records
        self.logger = logger
        self.clock = clock
        self.get = get
    }

    /// Takes in the certificates that servers presented to a probe of this node.
    package func note(_ observation: Observation) {
        guard !self.directories.isEmpty else { return }
        for chain in observation.chains {
            guard let certificate = chain.certificates.first, observation.at < certificate.notAfter,
                self.watched.withLock({ $0[certificate.sha256] == nil }),
                let der = observation.material[certificate.sha256], let identifier = RenewalIdentifier.text(of: der)
            else { continue }
            self.watched.withLock { watched in
                guard watched.count < Self.limit else { return }
                watched[certificate.sha256] = Watched(
                    identifier: identifier, notAfter: certificate.notAfter, due: observation.at)
            }
        }
    }

    /// Reads what all nodes know.
    package func load() async { await self.readNews() }

    /// Asks and reads until cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await PeriodicWorker(every: .seconds(30), first: .afterInterval).run { await self.readNews() }
            }
            guard !self.directories.isEmpty else { return }
            group.addTask { await PeriodicWorker(every: .seconds(5)).run { await self.askDue() } }
        }
    }

    private func readNews() async {
        let now = self.clock()
        do {
            // Clocks of other nodes may be a little behind.
            let from = self.readUntil.withLock { $0 }?.adding(seconds: -120)
            self.summary.take(try await self.store.read(after: from))
            self.readUntil.withLock { $0 = now }
        } catch {
            guard !Task.isCancelled else { return }
            self.logger.log(.observationsUnreadable, ["error": "\(error)"])
        }
    }

    // MARK: Asking

    private func askDue() async {
        let now = self.clock()
        let due = self.watched.withLock { watched in
            watched = watched.filter { now < $0.value.notAfter }
            return watched.filter { $0.value.due <= now }
        }
        guard !due.isEmpty else { return }
        var services: [String] = []
        var isWhole = true
        for directory in self.directories {
            do throws(Failure) { services.append(try await self.service(of: directory)) } catch {
                isWhole = false
                self.logger.log(.renewalsUnknown, ["authority": "\(directory)", "error": "\(error.text)"])
            }
        }
        for (certificate, watched) in due.sorted(by: { $0.value.due < $1.value.due }) {
            guard !Task.isCancelled else { return }
            // What no authority knows is asked about again as rarely as what one does; where one did not answer, soon.
            var wait = isWhole ? Self.usual : Self.patience
            for service in services {
                do throws(Failure) {
                    guard let (window, seconds) = try await self.ask(service, watched.identifier) else { continue }
                    await self.keep(window, of: certificate)
                    wait = seconds
                    break
                } catch {
                    wait = Self.patience
                    self.logger.log(.renewalsUnknown, ["authority": "\(service)", "error": "\(error.text)"])
                }
            }
            let next = self.clock().adding(seconds: Int64(wait))
            self.watched.withLock { $0[certificate]?.due = next }
        }
    }

    private struct Failure: Error {
        let text: String
    }

    /// The address of a directory's service for renewal information.
    private func service(of directory: String) async throws(Failure) -> String {
        let answer = try await self.fetch(directory)
        guard answer.status == 200 else {
            throw Failure(text: "its directory is answered with status \(answer.status)")
        }
        guard let json = Self.json(answer.body), let service = json["renewalInfo"]?.stringValue,
            service.utf8.count <= 1000
        else { throw Failure(text: "its directory names no service for renewal information") }
        return service.hasSuffix("/") ? String(service.dropLast()) : service
    }

    /// The window of a certificate, and the seconds until it is to be asked for again; nil where this authority does not know it.
    private func ask(_ service: String, _ identifier: String) async throws(Failure) -> (RenewalWindow, Double)? {
        let answer = try await self.fetch("\(service)/\(identifier)")
        // Unknown, or of another authority: 404 as a rule, and 400 by some.
        if [400, 404].contains(answer.status) { return nil }
        guard answer.status == 200 else { throw Failure(text: "it answers with status \(answer.status)") }
        guard let window = Self.json(answer.body).flatMap({ RenewalWindow($0) }) else {
            throw Failure(text: "its answer has no suggested window")
        }
        return (window, min(max(answer.retryAfter ?? Self.usual, Self.shortest), Self.longest))
    }

    private func fetch(_ address: String) async throws(Failure) -> Answer {
        let answer: Answer
        do { answer = try await self.get(address) } catch { throw Failure(text: "\(error)") }
        guard answer.body.count <= Self.bodyLimit else { throw Failure(text: "its answer is too large") }
        return answer
    }

    private static func json(_ body: [UInt8]) -> JSON? {
        try? JSON(parsing: body, limits: .stored(depth: 8, nodes: 1000))
    }

    private func keep(_ window: RenewalWindow, of certificate: [UInt8]) async {
        self.summary.take([certificate: window])
        guard self.records else { return }
        do { try await self.store.record(window, of: certificate, at: self.clock()) } catch {
            guard !Task.isCancelled else { return }
            self.logger.log(.observationNotRecorded, ["error": "\(error)"])
        }
    }
}
