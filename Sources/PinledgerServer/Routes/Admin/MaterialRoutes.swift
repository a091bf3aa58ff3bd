import EventStore
import HTTPTypes
import Hummingbird
import KeyFiles
import NIOPosix
import PinWire
import Pinning
import Publishing

/// Operators' certificates, keys and requests: `/v1/inspect` and the stored material of an app's keys.
struct MaterialRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("inspect", .post, "/v1/inspect", access: .anyToken, bodyLimit: Upload.maximumSize, self.inspect),
            Route(
                "describeKeys", .post, "/v1/apps/{app}/key-facts", access: .app(.changeApps),
                query: CommandExecutor.query,
                bodyLimit: Upload.maximumSize, self.describe),
        ]
    }

    /// Describes the body, which may be of any type, and stores nothing.
    private func inspect(_ exchange: Exchange) async throws -> Response {
        let body = SensitiveUpload(try await exchange.body())
        // Opening a key store may take a second.
        let outcome = try await NIOThreadPool.singleton.runIfActive { () -> Result<Upload, UploadError> in
            Result { () throws(UploadError) in try body.read() }
        }
        switch outcome {
        case .success(let upload): return .json(["items": .array(upload.items.map(\.json))])
        case .failure(let error): throw Problem(.uploadRefused, "\(error)")
        }
    }

    /// Stores more facts about keys whose pins the app has.
    private func describe(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let change = try await exchange.keyChange { (members, uploads) throws(JSONDefect) in
            let field = try members.required("material")
            let upload = try field.upload(Array(try field.string().utf8), &uploads)
            var evidence: [KeyEvidence] = []
            for item in upload.items {
                switch item {
                case .certificate(let certificate): evidence.append(.certificate(certificate))
                case .publicKey(let key): evidence.append(.publicKey(key))
                case .request(let request):
                    evidence.append(.request(request.key, subject: request.subject, dnsNames: request.dnsNames))
                case .pin, .fingerprint:
                    throw field.defect("must be certificates, public keys or requests, not their hashes")
                }
            }
            for shown in evidence { uploads.keep(shown, of: upload) }
            return evidence
        }
        return try await self.change(.app(id, [.describeKeys(change.content)]), of: change, in: exchange)
    }
}
