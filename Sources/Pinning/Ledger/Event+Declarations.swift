import PinWire

// The declarations of the events of all streams but those of apps and webhooks, which have files of their own.

private let findings = EventField("findings", .findings)
private let kid = EventField("kid", .text)
private let expiresAt = EventField("expires_at", .time)
private let keyID = EventField("key_id", .text)

extension WatchEvent {
    enum Declared {
        static let warningRaised = EventDeclaration(
            "WarningRaised", .warning, EventField(all: Warning.init(_:), \.members)
        ) { .watch(.warningRaised($0)) }
        static let warningCleared = EventDeclaration(
            "WarningCleared", .warning, EventField(all: Warning.Subject.init(_:), \.members)
        ) { .watch(.warningCleared($0)) }
        static let telemetryKeyAdded = EventDeclaration(
            "TelemetryKeyAdded", .telemetry, keyID, EventField(optional: "note", .text)
        ) { .watch(.telemetryKeyAdded(id: $0, note: $1)) }
        static let telemetryKeyRetired = EventDeclaration("TelemetryKeyRetired", .telemetry, keyID) {
            .watch(.telemetryKeyRetired(id: $0))
        }

        static let documentPublished = EventDeclaration(
            "DocumentPublished", .document,
            EventField(
                "content_sha256",
                .bytes("32 bytes of hexadecimal", count: 32, decode: Hex.decode) { Hex.encode($0) }),
            EventField("version", .count(from: 0))
        ) { .watch(.documentPublished(Publication(version: $1, contentDigest: $0))) }

        static let all: [any DeclaredEvent] = [
            warningRaised, warningCleared, telemetryKeyAdded, telemetryKeyRetired, documentPublished,
        ]
    }

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .warningRaised(let warning): visitor.visit(Declared.warningRaised, warning)
        case .warningCleared(let subject): visitor.visit(Declared.warningCleared, subject)
        case .telemetryKeyAdded(let id, let note): visitor.visit(Declared.telemetryKeyAdded, id, note)
        case .telemetryKeyRetired(let id): visitor.visit(Declared.telemetryKeyRetired, id)
        case .documentPublished(let publication):
            visitor.visit(Declared.documentPublished, publication.contentDigest, publication.version)
        }
    }
}

extension FleetEvent {
    enum Declared {
        static let killSwitchEngaged = EventDeclaration("FleetKillSwitchEngaged", .killSwitch, expiresAt) {
            .fleet(.killSwitchEngaged(expiresAt: $0))
        }
        static let killSwitchReleased = EventDeclaration("FleetKillSwitchReleased", .killSwitch) {
            .fleet(.killSwitchReleased)
        }
        static let issuerSet = EventDeclaration("IssuerSet", .app, EventField("issuer", .text)) {
            .fleet(.issuerSet($0))
        }
        static let guardRailSet = EventDeclaration(
            "FleetGuardRailSet", .guardRail, EventField<GuardRail>("code", .word), EventField("lowered", .flag)
        ) { .fleet(.guardRailSet($0, isLowered: $1)) }
        static let railsOverridden = EventDeclaration("FleetGuardRailsOverridden", .guardRail, findings) {
            .fleet(.railsOverridden($0))
        }
        static let historyRestored = EventDeclaration(
            "HistoryRestored", .log, EventField("epoch", .count(from: 1)), EventField("kept_size", .count(from: 0)),
            EventField(
                optional: "lost_root",
                .bytes("32 bytes of base64", count: 32, decode: Base64.decode) { Base64.encode($0) }),
            EventField(optional: "lost_size", .count(from: 1)), EventField("raised_by", .count(from: 1))
        ) { (epoch, kept, root, size, raise) throws(JSONDefect) in
            guard (root == nil) == (size == nil) else {
                throw JSONDefect(pointer: JSONPointer(), message: "has one of lost_root and lost_size")
            }
            let lost = root.flatMap { root in size.map { HistoryRestoration.End(size: $0, root: root) } }
            return .fleet(
                .historyRestored(HistoryRestoration(epoch: epoch, keptSize: kept, lost: lost, raisedBy: raise)))
        }

        static let featureLevelRaised = EventDeclaration(
            "FeatureLevelRaised", .log, EventField("level", .count(from: 1))
        ) { .fleet(.featureLevelRaised($0)) }

        static let all: [any DeclaredEvent] = [
            killSwitchEngaged, killSwitchReleased, issuerSet, guardRailSet, railsOverridden, historyRestored,
            featureLevelRaised,
        ]
    }

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .killSwitchEngaged(let end): visitor.visit(Declared.killSwitchEngaged, end)
        case .killSwitchReleased: visitor.visit(Declared.killSwitchReleased)
        case .issuerSet(let issuer): visitor.visit(Declared.issuerSet, issuer)
        case .guardRailSet(let rail, let isLowered): visitor.visit(Declared.guardRailSet, rail, isLowered)
        case .railsOverridden(let findings): visitor.visit(Declared.railsOverridden, findings)
        case .historyRestored(let restoration):
            visitor.visit(
                Declared.historyRestored, restoration.epoch, restoration.keptSize, restoration.lost?.root,
                restoration.lost?.size, restoration.raisedBy)
        case .featureLevelRaised(let level): visitor.visit(Declared.featureLevelRaised, level)
        }
    }
}

extension KeyEvent {
    enum Declared {
        static let signingKeyCreated = EventDeclaration(
            "SigningKeyCreated", .key, EventField("alg", .constant("EdDSA")), kid,
            EventField(
                "public_key",
                .bytes("32 bytes of base64url", count: 32, decode: Base64URL.decode) { Base64URL.encode($0) })
        ) { .keys(.signingKeyCreated(kid: $1, publicKey: $2)) }
        static let signingKeyActivated = EventDeclaration("SigningKeyActivated", .key, kid) {
            .keys(.signingKeyActivated(kid: $0))
        }
        static let signingKeyRetired = EventDeclaration("SigningKeyRetired", .key, kid) {
            .keys(.signingKeyRetired(kid: $0))
        }
        static let rootPublished = EventDeclaration(
            "RootPublished", .key,
            EventField(
                "root", MemberValue<SignedRoot>({ (field) throws(JSONDefect) in try SignedRoot(field) }, \.json))
        ) { .keys(.rootPublished($0)) }
        static let railsOverridden = EventDeclaration("SigningKeyRailsOverridden", .guardRail, findings) {
            .keys(.railsOverridden($0))
        }

        static let all: [any DeclaredEvent] = [
            signingKeyCreated, signingKeyActivated, signingKeyRetired, rootPublished, railsOverridden,
        ]
    }

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .signingKeyCreated(let kid, let publicKey):
            visitor.visit(Declared.signingKeyCreated, "EdDSA", kid, publicKey)
        case .signingKeyActivated(let kid): visitor.visit(Declared.signingKeyActivated, kid)
        case .signingKeyRetired(let kid): visitor.visit(Declared.signingKeyRetired, kid)
        case .rootPublished(let root): visitor.visit(Declared.rootPublished, root)
        case .railsOverridden(let findings): visitor.visit(Declared.railsOverridden, findings)
        }
    }
}

extension LogEvent {
    enum Declared {
        private static let publicKey = EventField(
            "public_key",
            .bytes("32 bytes of base64url", count: 32, decode: Base64URL.decode) { Base64URL.encode($0) })

        static let logOpened = EventDeclaration(
            "LogOpened", .log, EventField("alg", .constant("EdDSA")), kid, EventField("origin", .logName), publicKey
        ) { .log(.logOpened(origin: $2, kid: $1, publicKey: $3)) }
        static let logKeyAdded = EventDeclaration(
            "LogKeyAdded", .log, EventField("alg", .constant("EdDSA")), kid, publicKey
        ) { .log(.logKeyAdded(kid: $1, publicKey: $2)) }
        static let logContinued = EventDeclaration(
            "LogContinued", .log, EventField("origin", .logName), EventField("previous_origin", .logName),
            EventField(
                "previous_root",
                .bytes("32 bytes of base64", count: 32, decode: Base64.decode) { Base64.encode($0) }),
            EventField("previous_size", .count(from: 0))
        ) { origin, previous, root, size in
            .log(.logContinued(origin: origin, after: EarlierLog(origin: previous, end: .init(size: size, root: root))))
        }
        static let logKeyRetired = EventDeclaration("LogKeyRetired", .log, kid) { .log(.logKeyRetired(kid: $0)) }
        static let logWitnessAdded = EventDeclaration(
            "LogWitnessAdded", .log, EventField(optional: "monitoring_url", .address), EventField("name", .logName),
            publicKey, EventField("url", .address)
        ) { monitoring, name, publicKey, url in
            .log(
                .logWitnessAdded(LogWitness(name: name, publicKey: publicKey, url: url, monitoringURL: monitoring)))
        }
        static let logWitnessRemoved = EventDeclaration(
            "LogWitnessRemoved", .log, EventField("name", .logName), publicKey
        ) { .log(.logWitnessRemoved(name: $0, publicKey: $1)) }
        static let logQuorumSet = EventDeclaration("LogQuorumSet", .log, EventField("quorum", .count(from: 0))) {
            .log(.logQuorumSet($0))
        }
        static let logAccessSet = EventDeclaration("LogAccessSet", .log, EventField("public", .flag)) {
            .log(.logAccessSet(isPublic: $0))
        }
        static let logDocumentProofsSet = EventDeclaration(
            "LogDocumentProofsSet", .log, EventField("document_proofs", .flag)
        ) { .log(.logDocumentProofsSet($0)) }

        static let all: [any DeclaredEvent] = [
            logOpened, logContinued, logKeyAdded, logKeyRetired, logWitnessAdded, logWitnessRemoved, logQuorumSet,
            logAccessSet, logDocumentProofsSet,
        ]
    }

    func visit<Visitor: EventVisitor>(_ visitor: inout Visitor) -> Visitor.Output {
        switch self {
        case .logOpened(let origin, let kid, let publicKey):
            visitor.visit(Declared.logOpened, "EdDSA", kid, origin, publicKey)
        case .logContinued(let origin, let earlier):
            visitor.visit(
                Declared.logContinued, origin, earlier.origin, earlier.end.root, earlier.end.size)
        case .logKeyAdded(let kid, let publicKey): visitor.visit(Declared.logKeyAdded, "EdDSA", kid, publicKey)
        case .logKeyRetired(let kid): visitor.visit(Declared.logKeyRetired, kid)
        case .logWitnessAdded(let witness):
            visitor.visit(
                Declared.logWitnessAdded, witness.monitoringURL, witness.name, witness.publicKey, witness.url)
        case .logWitnessRemoved(let name, let publicKey):
            visitor.visit(Declared.logWitnessRemoved, name, publicKey)
        case .logQuorumSet(let quorum): visitor.visit(Declared.logQuorumSet, quorum)
        case .logAccessSet(let isPublic): visitor.visit(Declared.logAccessSet, isPublic)
        case .logDocumentProofsSet(let isSet): visitor.visit(Declared.logDocumentProofsSet, isSet)
        }
    }
}
