import ClientFormats
import Keys
import PinWire
import Pinning

extension Works {
    /// Answers to deployed clients, each made anew, as after a change: what their formats see of the app, and the bytes. Signatures with
    /// OpenSSL, which blinds them with random numbers, are left out.
    static let answers = [
        Work("answer-dynapins", count: 50) {
            let answers = try Answered()
            let key = try ExampleApp.signingKey()
            let keyID = DynapinsProtocol.ed25519.keyID(of: key.publicKey.subjectPublicKeyInfo)
            return { _ in
                let request = try DynapinsRequest(query: [("domain", answers.name)])
                let pins = try DynapinsPins(request, in: answers.view())
                let envelope = DynapinsEnvelope(
                    pins, issuedAt: ExampleApp.now, expiresAt: ExampleApp.now.adding(seconds: 3600), ttlSeconds: 3600,
                    keyID: keyID)
                return envelope.body(signature: try key.sign(envelope.signingBytes))?.count ?? 0
            }
        },
        Work("answer-ssl-pinning", count: 50) {
            let answers = try Answered()
            return { _ in
                let file = SSLPinningFile(answers.view(), issuedAt: ExampleApp.now, ttlSeconds: 86_400)
                return file?.body(signature: [UInt8](repeating: 1, count: 256)).count ?? 0
            }
        },
        Work("answer-muejam", count: 50) {
            let answers = try Answered()
            return { _ in try MueJamFingerprints(answers.view(), domain: answers.name).reply.body.count }
        },
        Work("answer-netkit", count: 50) {
            let answers = try Answered()
            return { _ in NetKitDocument(answers.view()).bytes.count }
        },
    ]

    /// An app whose clients are answered.
    private struct Answered {
        private let app: App
        private let document: Document
        let name: String

        init() throws {
            let example = try ExampleApp(hosts: 5)
            guard let app = example.state.apps[example.id], let document = example.state.document(of: example.id) else {
                throw Unfit("the app is not there")
            }
            (self.app, self.document, self.name) = (app, document, example.hosts[2].name)
        }

        func view() -> ClientView { ClientView(self.document, of: self.app, at: ExampleApp.now) }
    }
}
