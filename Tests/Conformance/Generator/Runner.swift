import Foundation
import PinWire
import PinledgerClient

/// Answers cases with the library.
struct Runner {
    /// Whether `decide` asks the document that the server makes for the device.
    let decidesAsServer: Bool

    struct Unknown: Error, CustomStringConvertible {
        let description: String
    }

    func answer(_ line: String) throws -> JSON {
        let json = try JSON(text: line, limits: JSONLimits(depth: 16, nodes: 1 << 20))
        switch json["kind"]?.stringValue {
        case "verify": return try self.verify(json)
        case "decide": return try self.decide(json)
        case "version": return self.order(json)
        case "report": return try self.report(json)
        case "root": return try self.root(json)
        default: throw Unknown(description: "an unknown kind of case")
        }
    }

    // MARK: Documents

    private func verify(_ json: JSON) throws -> JSON {
        let verifier = DocumentVerifier(
            app: try AppID(try Self.text(json, "app")), issuer: try Self.text(json, "issuer"),
            anchors: try json["root"]?.stringValue.map { try TrustAnchors(root: Array($0.utf8)) }
                ?? TrustAnchors(jwks: json["keys"]?.canonicalBytes ?? []))
        let now = json["now"]?.integerValue.map { Timestamp(seconds: $0) }
        guard let document = Base64.decode(try Self.text(json, "document")) else {
            throw Unknown(description: "document is no base64")
        }
        do throws(VerificationFailure) {
            // One whose key is no trust anchor any more counts as none.
            let held = json["held"]?.stringValue.flatMap {
                try? verifier.verify(UnverifiedDocument(Array($0.utf8)), replacing: nil, at: nil)
            }
            let verified = try verifier.verify(UnverifiedDocument(document), replacing: held, at: now)
            return .members([
                "verdict": "accepted", "version": .integer(verified.version),
                "stale": now.map { .bool(verified.isStale(at: $0)) },
            ])
        } catch { return ["verdict": "refused", "reason": .string(error.rawValue)] }
    }

    // MARK: Roots of trust

    private func root(_ json: JSON) throws -> JSON {
        guard let bytes = Base64.decode(try Self.text(json, "next")) else {
            throw Unknown(description: "next is no base64")
        }
        let present = try json["root"]?.stringValue.map { try RootOfTrust(Array($0.utf8)) }
        do throws(RootOfTrust.Failure) {
            let root = if let present { try present.next(bytes) } else { try RootOfTrust(bytes) }
            return [
                "verdict": "accepted", "version": .integer(root.version), "expires": .integer(root.expiresAt.seconds),
                "document_keys": .array(root.documentKeys.keys.sorted().map { .string($0) }),
            ]
        } catch { return ["verdict": "refused", "reason": .string(error.rawValue)] }
    }

    // MARK: Decisions

    private func decide(_ json: JSON) throws -> JSON {
        let issued = try IssuedDocument(payload: json["payload"]?.canonicalBytes ?? [])
        let shared = Evaluator(issued)
        let decisions = try (json["questions"]?.arrayValue ?? []).map { question -> JSON in
            let device = Self.device(question["device"] ?? [:])
            let now = Timestamp(seconds: question["now"]?.integerValue ?? 0)
            let chain = try question["chain"]?.arrayValue?.map { try Pin(text: $0.stringValue ?? "") }
            var evaluator = shared
            if self.decidesAsServer {
                evaluator = Evaluator(
                    IssuedDocument(
                        shared.document(for: shared.resolution(for: device)), issuedAt: issued.issuedAt,
                        expiresAt: issued.expiresAt))
            }
            let policy = PinPolicy(evaluator: evaluator, device: device)
            let host = try Self.text(question, "host")
            let decision = evaluator.decide(host, for: device, at: now)
            return .members([
                "outcome": .string(decision.outcome.rawValue),
                "reason": self.decidesAsServer ? nil : .string(decision.reason.rawValue),
                "arm": decision.arm.map { .string($0.rawValue) },
                "host": decision.pattern.map { .string($0.text) },
                "pins": .array(decision.pins.map { .string($0.pin.description) }),
                "verdict": decision.outcome == .builtin
                    ? nil : chain.map { .string(policy.judge($0, of: host, by: decision).result.rawValue) },
            ])
        }
        return ["decisions": .array(decisions)]
    }

    static func device(_ json: JSON) -> Device {
        var ids: [Rollout.Seed: String] = [:]
        for seed in Rollout.Seed.allCases { ids[seed] = json[seed.rawValue]?.stringValue }
        return Device(
            ids: ids, appVersion: json["app_version"]?.stringValue, build: json["build"]?.integerValue,
            country: json["country"]?.stringValue)
    }

    private func order(_ json: JSON) -> JSON {
        guard let a = try? AppVersion(json["a"]?.stringValue ?? ""),
            let b = try? AppVersion(json["b"]?.stringValue ?? "")
        else { return [:] }
        return ["order": .integer(a < b ? -1 : b < a ? 1 : 0)]
    }

    // MARK: Reports

    private func report(_ json: JSON) throws -> JSON {
        guard let install = InstallID(try Self.text(json, "install")), let key = json["key"],
            let now = json["now"]?.integerValue, let version = json["document_version"]?.integerValue,
            let share = json["share"]?.integerValue
        else { throw Unknown(description: "a report misses a member") }
        let app = try AppID(try Self.text(json, "app"))
        var configuration = ReportConfiguration(
            install: install, services: [],
            key: try ReportKey(id: try Self.text(key, "id"), secret: try Self.text(key, "secret")))
        configuration.platform = json["platform"]?.stringValue.map { ClientPlatform(named: $0) }
        configuration.appVersion = json["app_version"]?.stringValue
        configuration.share = Int(share)
        let time = Timestamp(seconds: now)
        guard configuration.isSampled(on: ReportDay(time)) else { return ["sampled": false] }
        var journal = ReportJournal()
        for connection in json["connections"]?.arrayValue ?? [] {
            guard let report = try Self.outcome(connection) else { continue }
            _ = journal.note(report, of: install)
        }
        guard let batch = journal.batch(holding: version, at: time), let key = configuration.key else {
            throw Unknown(description: "there is nothing to report")
        }
        let body = batch.body(of: configuration)
        return [
            "sampled": true, "body": .string(Base64.encode(body)),
            "signature": .string(key.field(app: app, at: time, body: body)),
        ]
    }

    private static func outcome(_ json: JSON) throws -> OutcomeReport? {
        guard let reason = DeviceDecision.Reason(rawValue: try self.text(json, "reason")),
            let time = json["time"]?.integerValue, let version = json["document_version"]?.integerValue
        else { throw Unknown(description: "a connection misses a member") }
        let decision = DeviceDecision(
            outcome: .enforce, arm: json["arm"]?.stringValue.flatMap { PolicyArm(rawValue: $0) }, reason: reason)
        let result = try self.text(json, "result")
        let outcome: ConnectionOutcome?
        if result == "invalid_chain" {
            outcome = .failure(.chainInvalid)
        } else {
            guard let judged = ConnectionVerdict.Result(rawValue: result) else {
                throw Unknown(description: "an unknown result")
            }
            outcome = ConnectionVerdict(judged, decision).reported
        }
        return try outcome.flatMap { outcome in
            OutcomeReport(
                host: try self.text(json, "host"), outcome: outcome, decision: decision, version: version,
                chain: try (json["chain"]?.arrayValue ?? []).map { try Pin(text: $0.stringValue ?? "") },
                at: Timestamp(seconds: time))
        }
    }

    private static func text(_ json: JSON, _ name: String) throws -> String {
        guard let text = json[name]?.stringValue else { throw Unknown(description: "\(name) is missing") }
        return text
    }
}
