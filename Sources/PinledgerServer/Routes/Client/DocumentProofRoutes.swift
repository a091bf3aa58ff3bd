import Concurrency
import EventStore
import HTTPTypes
import Hummingbird
import Keys
import NIOCore
import PinWire
import Pinning
import Publishing
import TransparencyLog
import Witnesses

/// The proofs of published documents: `/client/v1/apps/{app}/document.tlog-proof`.
struct DocumentProofRoutes: Sendable {
    let services: Services
    private let readers: LogReaders
    /// A proof never becomes wrong, so one is made for each document and not for each request.
    private let proofs = SingleFlightCache<AppID, Made>(entries: 10_000, bytes: 64 * 1024 * 1024)

    /// How long a proof is kept that lacks cosignatures of witnesses.
    private static let patience = Duration.seconds(5)

    /// Who is to have signed a proof's checkpoint.
    private struct Trust: Hashable, Sendable {
        let origin: LogName
        /// By the keys' ids.
        let signers: [String]
        let witnesses: [LogWitness]
        let quorum: Int64
    }

    /// A proof, and what it was made for.
    private struct Made: Sendable {
        let publication: Publication
        let trust: Trust
        let bytes: [UInt8]
        /// What witnesses may still add to it makes another proof of it; nil where nothing does.
        let until: ContinuousClock.Instant?
    }

    init(services: Services, readers: LogReaders) {
        self.services = services
        self.readers = readers
    }

    var routes: [Route] {
        [
            Route(
                "getDocumentProof", .get, "/client/v1/apps/{app}/document.tlog-proof", surface: .client,
                access: .everybody, isCostly: true, self.proof)
        ]
    }

    private func proof(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        guard let document = self.services.publisher.table[id] else { throw try self.services.missing(id) }
        let state = self.services.ledger.view.state
        guard let origin = state.signableOrigin, state.log.recordsDocuments else {
            throw Problem(.noDocumentProof, "Documents of this server are not recorded in a log.")
        }
        guard let recorded = state.apps[id]?.watch.published, recorded.publication == document.publication else {
            throw Self.pending(document)
        }
        let log = state.log
        let trust = Trust(origin: origin, signers: log.signers.map(\.kid), witnesses: log.witnesses, quorum: log.quorum)
        let made = try await self.proofs.value(for: id) { made, _ in
            made.publication == recorded.publication && made.trust == trust && made.until.map { .now < $0 } ?? true
        } make: {
            let (bytes, cosignatures) = try await self.readers.read {
                try await self.bytes(of: recorded, id, document)
            }
            let isComplete = cosignatures >= log.witnesses.count
            let made = Made(
                publication: recorded.publication, trust: trust, bytes: bytes,
                until: isComplete ? nil : .now + Self.patience)
            return (made, bytes.count + 256)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "public, max-age=5"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: made.bytes)))
    }

    /// The proof, and how many witnesses have cosigned its checkpoint.
    private func bytes(
        of recorded: Watch.Recorded, _ id: AppID, _ document: PublishedDocument
    ) async throws -> (bytes: [UInt8], cosignatures: Int) {
        let reader = self.services.reader
        guard let stored = try await reader.entry(of: .watch(id), version: recorded.streamVersion) else {
            throw Self.pending(document)
        }
        let position = stored.entry.position
        guard stored.entry.event == .watch(.documentPublished(recorded.publication)) else {
            throw LedgerFault.unfit(position: position)
        }
        let shown = try await self.services.checkpoints.best(covering: UInt64(position))
        guard UInt64(position) < shown.checkpoint.size else { throw Self.pending(document) }
        let inclusion = try await reader.inclusionProof(of: UInt64(position), in: shown.checkpoint.size)
        let proof = LogProof(
            extra: stored.bytes, index: UInt64(position), hashes: inclusion.hashes, checkpoint: shown.note.encoded)
        // What the database says is believed only as far as the checkpoint goes, which this node has verified.
        do { try proof.verify(leaf: MerkleTree.leafHash(stored.bytes), against: shown.checkpoint) } catch {
            throw LedgerFault.leafHash(position: position)
        }
        return (proof.encoded, shown.cosignatures.count)
    }

    private static func pending(_ document: PublishedDocument) -> Problem {
        var problem = Problem(.noDocumentProof, "Version \(document.version) of the document is not in the log yet.")
        problem.headers[.retryAfter] = "1"
        return problem
    }
}
