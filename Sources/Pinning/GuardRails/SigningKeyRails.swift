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
        change.events.compactMap { event in
            switch event {
            case .signingKeyActivated(let kid): Self.activation(kid, change)
            case .signingKeyRetired(let kid): Self.retirement(kid, change)
            case .signingKeyCreated, .railsOverridden: nil
            }
        }
    }

    private static func activation(_ kid: String, _ change: KeyChange) -> Finding? {
        // The very first key signs at once: there is no other that it could overlap with.
        guard let key = change.before.keys[kid], change.context.now < key.knownEverywhereAt else { return nil }
        return Finding(
            .signingKeyOverlap,
            "Clients may not know the key \(kid) before \(key.knownEverywhereAt), and refuse documents of keys that they do not have.",
            remedy:
                "Activate the key after that time, and once installs run an app release that ships it; `pinledger key list` shows when it was announced.",
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
