// What the client library costs an app: ClientBench ROUNDS
//
// Prints one JSON object for each document: nanoseconds to verify and take up a new one beside the one signature and the two digests that
// nothing can do without, and for each connection beside a bare SHA-256 of 64 bytes; with and without reports.
import Crypto
import PinWire
import PinledgerClient

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
let clock = ContinuousClock()
let app = try AppID("com.example.shop")
let issued: Int64 = 1_790_000_000
let now = Timestamp(seconds: issued + 60)

/// Nanoseconds for each of `count` things that `body` does, the median of the rounds.
func nanoseconds(per count: Int, _ body: () async throws -> Int) async throws -> Double {
    var times: [Double] = []
    var sum = 0
    for _ in 0..<rounds {
        let began = clock.now
        sum &+= try await body()
        times.append((clock.now - began) / .nanoseconds(1) / Double(count))
    }
    // What was computed has to be used, or none of it need be done.
    precondition(sum != .min)
    return times.sorted()[times.count / 2]
}

struct Signer {
    let key = Curve25519.Signing.PrivateKey()
    let keyID: String
    let keys: [UInt8]

    init() {
        let x = Base64URL.encode(Array(self.key.publicKey.rawRepresentation))
        let keyID = Base64URL.encode(sha256(Array(#"{"crv":"Ed25519","kty":"OKP","x":"\#(x)"}"#.utf8)))
        let set: JSON = ["keys": [["kty": "OKP", "crv": "Ed25519", "x": .string(x), "kid": .string(keyID)]]]
        self.keyID = keyID
        self.keys = set.canonicalBytes
    }

    func sign(_ payload: [UInt8]) throws -> [UInt8] {
        let header = Array(#"{"alg":"EdDSA","kid":"\#(self.keyID)","typ":"pinset+jws"}"#.utf8)
        let input = Array("\(Base64URL.encode(header)).\(Base64URL.encode(payload))".utf8)
        return input + [UInt8(ascii: ".")] + Array(Base64URL.encode(Array(try self.key.signature(for: input))).utf8)
    }
}

func pin(_ number: Int) -> Pin {
    guard let pin = Pin(bytes: sha256([UInt8(truncatingIfNeeded: number)])) else {
        preconditionFailure("32 bytes make a pin")
    }
    return pin
}

/// A document whose every host has a candidate behind a rollout.
func document(hosts count: Int) throws -> Document {
    let policy = Document.Policy(
        mode: .enforce, pins: (0..<3).map { Document.RolePin(pin: pin($0), role: $0 == 0 ? .primary : .backup) })
    return Document(
        issuer: "pinledger", app: app, version: 1, pinsValidUntil: nil, killSwitches: [], rollout: nil,
        versionGate: VersionGate(minimum: try AppVersion("1.5")),
        hosts: try (0..<count).map { number in
            Document.Host(
                pattern: try HostPattern("api-\(number).example.com"), includesSubdomains: false, baseline: policy,
                candidate: policy,
                rollout: Rollout(basisPoints: 2500, seed: [.installID], salt: "host:api-\(number).example.com"))
        },
        fallback: Fallback(), monitoring: Monitoring(isEnabled: true))
}

/// No service: documents are handed over.
struct NoService: DocumentTransport, ReportTransport {
    struct None: Error {}
    func get(_ request: TransportRequest) throws -> DocumentResponse { throw None() }
    func post(_ request: TransportRequest) throws -> Int { throw None() }
}

let signer = Signer()
let anchors = try TrustAnchors(jwks: signer.keys)
let install = InstallID.random()
let device = Device(ids: [.installID: install.text], appVersion: "2.4.1")
let message = [UInt8](repeating: 7, count: 64)
let digests = 200_000
let bare = try await nanoseconds(per: digests) {
    var message = message
    var sum = 0
    for turn in 0..<digests {
        message[0] = UInt8(truncatingIfNeeded: turn)
        sum &+= Int(sha256(message)[0])
    }
    return sum
}

for count in [1, 10, 100, 1000] {
    let payload = try document(hosts: count).payload(
        issuedAt: Timestamp(seconds: issued), expiresAt: Timestamp(seconds: issued + 86_400))
    let bytes = try signer.sign(payload)
    let verifier = DocumentVerifier(app: app, issuer: "pinledger", anchors: anchors)
    let turns = max(1, 2000 / count)
    let verified = try await nanoseconds(per: turns) {
        var sum = 0
        for _ in 0..<turns {
            let document = try verifier.verify(UnverifiedDocument(bytes), replacing: nil, at: now)
            // What a client does with it: a policy that is ready to decide.
            sum &+=
                PinPolicy(evaluator: Evaluator(document.issued), device: device).explain("", at: now)?.trace.count ?? 0
        }
        return sum
    }
    // What no client can do without: the signature, and a digest of the payload.
    let end = bytes.lastIndex(of: UInt8(ascii: ".")) ?? 0
    let signature = Base64URL.decode(String(decoding: bytes[(end + 1)...], as: UTF8.self)) ?? []
    let least = try await nanoseconds(per: turns) {
        var sum = 0
        for _ in 0..<turns {
            sum &+= signer.key.publicKey.isValidSignature(signature, for: bytes[..<end]) ? 1 : 0
            sum &+= Int(sha256(payload)[0])
        }
        return sum
    }

    var configuration = ClientConfiguration(
        app: app, issuer: "pinledger", anchors: anchors, services: [], withoutDocument: .block,
        afterExpiry: .platformTrust)
    configuration.device = device
    configuration.builtinDocument = bytes
    let client = PinledgerClient(
        configuration, store: MemoryStore(), transport: NoService(), onFailure: { _ in }, clock: { now })
    _ = await client.load()
    precondition(client.policy.document != nil)
    let names = (0..<count).map { "api-\($0).example.com" }
    let chain = [pin(9), pin(8), pin(1)]
    let connections = 100_000
    let judged = try await nanoseconds(per: connections) {
        var sum = 0
        for turn in 0..<connections {
            sum &+= client.policy.judge(chain, of: names[turn % count], at: now).isAccepted ? 1 : 0
        }
        return sum
    }
    let reporter = PinledgerReporter(
        ReportConfiguration(install: install, services: [], key: nil), client: client, store: MemoryStore(),
        transport: NoService(), clock: { now })
    let reported = try await nanoseconds(per: connections) {
        var sum = 0
        for turn in 0..<connections {
            let policy = client.policy
            let verdict = policy.judge(chain, of: names[turn % count], at: now)
            reporter.record(verdict, of: names[turn % count], by: policy, chain: chain)
            sum &+= verdict.isAccepted ? 1 : 0
        }
        return sum
    }
    func rounded(_ value: Double) -> JSON { .number((value * 10).rounded() / 10) }
    let line: JSON = [
        "hosts": .integer(Int64(count)), "bytes": .integer(Int64(bytes.count)), "verify_ns": rounded(verified),
        "least_ns": rounded(least), "judge_ns": rounded(judged), "report_ns": rounded(reported),
        "sha256_ns": rounded(bare),
    ]
    print(line.canonicalText)
}
