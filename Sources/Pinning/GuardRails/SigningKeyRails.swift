import PinWire

/// One change of the signing keys as the input of the guard rails.
struct KeyChange {
    let before: KeyRing
    let events: [KeyEvent]
    let context: DecisionContext
}

/// The rail about signing keys: G31.
enum SigningKeyRails {
    static func findings(of change: KeyChange) -> [Finding] {
        change.events.flatMap { event -> [Finding?] in
            switch event {
            case .signingKeyActivated(let kid): [Self.activation(kid, change), Self.rootlessActivation(kid, change)]
            case .signingKeyRetired(let kid): [Self.retirement(kid, change)]
            case .rootPublished(let root): Self.publication(root, change)
            case .signingKeyCreated, .railsOverridden: []
            }
        }.compactMap(\.self)
    }

    /// Clients of a root refuse what a key signs that is not in it.
    private static func rootlessActivation(_ kid: String, _ change: KeyChange) -> Finding? {
        guard let root = change.before.root?.root, root.documentKeys[kid] == nil else { return nil }
        return Finding(
            .signingKeyOverlap,
            "The root of trust of version \(root.version) does not have the key \(kid): clients of that root refuse what the key signs.",
            remedy:
                "Publish a root of trust that has the key, with `pinledger root publish FILE`, and then activate the key."
        )
    }

    /// A root that ends sooner takes insistence: people have to meet for the next one.
    private static let leastRootSeconds: Int64 = 90 * 86_400

    private static func publication(_ file: SignedRoot, _ change: KeyChange) -> [Finding] {
        let kids = Set(file.metadata.documents.keys.values.map(RootOfTrust.thumbprint))
        func finding(_ detail: String, _ remedy: String) -> Finding {
            Finding(.signingKeyOverlap, detail, remedy: remedy)
        }
        var findings: [Finding] = []
        if change.before.isRestart(file) {
            findings.append(
                finding(
                    "The keys of the present root have not signed this one: no client takes it but those of apps that ship it, and all others keep theirs for good.",
                    "Have it signed by enough keys of the present root. Restart only if they are lost."))
        }
        if file.metadata.expiresAt < change.context.now.adding(seconds: Self.leastRootSeconds) {
            findings.append(
                finding(
                    "The root of trust ends at \(file.metadata.expiresAt): clients accept no further document then until they have the next one.",
                    "Draft it with an end that is some years ahead."))
        }
        if let active = change.before.activeKeyID, !kids.contains(active) {
            findings.append(
                finding(
                    "The root of trust does not have the key \(active), which signs documents: clients that take it refuse them all.",
                    "Add the key to the root, or activate a key that is in it before you publish it."))
        }
        let needed = change.before.keys.values.filter { key in
            key.state == .superseded && change.context.now < key.neededUntil && !kids.contains(key.kid)
                && change.before.root.map { $0.root.documentKeys[key.kid] != nil } ?? true
        }
        findings += needed.sorted { $0.kid < $1.kid }.map { key in
            finding(
                "The root of trust does not have the key \(key.kid): documents that it signed may be in use until \(key.neededUntil).",
                "Leave the key in the root until then, unless its private half is compromised.")
        }
        let strange = kids.filter { change.before.keys[$0]?.isInKeySet != true }
        findings += strange.sorted().map { kid in
            finding(
                "The root of trust has the key \(kid), which is not in this server's key set.",
                "Make the root from this server's key set, with `--document-keys` of `pinledger root draft FILE`.")
        }
        return findings
    }

    private static func activation(_ kid: String, _ change: KeyChange) -> Finding? {
        // The very first key signs at once: there is no other that it could overlap with.
        guard let key = change.before.keys[kid], change.context.now < key.knownEverywhereAt else { return nil }
        return Finding(
            .signingKeyOverlap,
            "Clients may not know the key \(kid) before \(key.knownEverywhereAt), and refuse documents of keys that they do not have.",
            remedy:
                "Activate the key after that time, and once clients trust it, by a root of trust or by an app release that ships it; `pinledger key list` shows when it was announced.",
            refusal: .keyTooYoung(kid, until: key.knownEverywhereAt)
        )
    }

    private static func retirement(_ kid: String, _ change: KeyChange) -> Finding? {
        guard let key = change.before.keys[kid], key.state == .superseded, change.context.now < key.neededUntil else {
            return nil
        }
        return Finding(
            .signingKeyOverlap,
            "Documents signed by \(kid) may be in use until \(key.neededUntil); clients would refuse them without the key.",
            remedy: "Retire the key after that time, or at once only if its private half is compromised.",
            refusal: .keyStillTrusted(kid, until: key.neededUntil)
        )
    }
}
