import Keys
import PinWire
import PinledgerClient
import Pinning

extension Works {
    /// The client library's work in an app: a new document, and a connection.
    static let library = [5, 500].flatMap { hosts in
        [
            Work("library-document-\(hosts)", count: hosts == 5 ? 50 : 10) {
                let app = try ExampleApp(hosts: hosts)
                let (verifier, bytes) = try Self.verifier(of: app)
                return { _ in
                    let document = try verifier.verify(UnverifiedDocument(bytes), replacing: nil, at: ExampleApp.now)
                    // An app does this with it: a policy that is ready to decide.
                    let policy = PinPolicy(evaluator: Evaluator(document.issued), device: Self.device)
                    return policy.explain("", at: ExampleApp.now)?.trace.count ?? 0
                }
            },
            Work("library-connection-\(hosts)", count: 500) {
                let app = try ExampleApp(hosts: hosts)
                let (verifier, bytes) = try Self.verifier(of: app)
                let document = try verifier.verify(UnverifiedDocument(bytes), replacing: nil, at: ExampleApp.now)
                let policy = PinPolicy(evaluator: Evaluator(document.issued), device: Self.device)
                let names = app.hosts.map(\.name)
                let chains = try names.indices.map { number in
                    [try ExampleApp.pin(10 * number), try ExampleApp.pin(7000), try ExampleApp.pin(7001)]
                }
                return { turn in
                    let place = turn % names.count
                    let verdict = policy.judge(chains[place], of: names[place], at: ExampleApp.now)
                    guard verdict.isAccepted else { throw Unfit("\(names[place]) is refused") }
                    return place
                }
            },
        ]
    }

    private static let device = Device(ids: [.installID: "uw5PSUQ3lNkB6Jaf8RvREg"], appVersion: "2.4.1")

    private static func verifier(of app: ExampleApp) throws -> (DocumentVerifier, [UInt8]) {
        let anchors = try TrustAnchors(
            jwks: JWK.set([JWK(try ExampleApp.signingKey().publicKey)]).canonicalBytes)
        return (
            DocumentVerifier(app: app.id, issuer: app.state.fleet.issuer, anchors: anchors), try app.signedDocument()
        )
    }
}
