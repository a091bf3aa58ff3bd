import Keys
import NIOCore
import PinWire
import Pinning
import Publishing

extension Works {
    /// An app's document, made of the ledger's state; and signed, ready to be served.
    static let documents = [5, 500].flatMap { hosts in
        [
            Work("document-made-\(hosts)", count: hosts == 5 ? 100 : 10) {
                let app = try ExampleApp(hosts: hosts)
                let end = ExampleApp.now.adding(seconds: 86_400)
                return { _ in
                    guard let document = app.state.document(of: app.id) else { throw Unfit("the app has no document") }
                    return document.payload(issuedAt: ExampleApp.now, expiresAt: end).count
                        + document.contentDigest.count
                }
            },
            Work("document-signed-\(hosts)", count: hosts == 5 ? 50 : 10) {
                let app = try ExampleApp(hosts: hosts)
                guard let document = app.state.document(of: app.id) else { throw Unfit("the app has no document") }
                let payload = document.payload(
                    issuedAt: ExampleApp.now, expiresAt: ExampleApp.now.adding(seconds: 86_400))
                let key = try ExampleApp.signingKey()
                let keyID = key.publicKey.keyID
                return { _ in
                    let text = try CompactJWS.sign(payload, type: Publisher.documentType, keyID: keyID, key: key)
                    let body = PreparedBody(
                        Array(text.utf8), tagPrefix: DocumentTag.prefix(version: document.version))
                    return body.identity.bytes.readableBytes
                }
            },
        ]
    }
}
