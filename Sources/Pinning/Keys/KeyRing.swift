package import PinWire

/// The state of a signing key's life.
package enum SigningKeyState: String, CaseIterable, Sendable, Hashable {
    /// In the JWKS, so that clients learn it, and not yet signing.
    case announced
    /// Signing.
    case active
    /// No longer signing, still in the JWKS, so that documents it signed verify.
    case superseded
    /// Out of the JWKS and its private half erased; the public half is kept permanently.
    case retired
}

/// The public half of a signing key, and its life so far.
package struct SigningKey: Hashable, Sendable {
    /// RFC 7638 thumbprint of the public key.
    package let kid: String
    /// The Ed25519 public key, 32 bytes.
    package let publicKey: [UInt8]
    package var state: SigningKeyState
    package let createdAt: Timestamp
    package var activatedAt: Timestamp?
    package var supersededAt: Timestamp?
    package var retiredAt: Timestamp?

    /// Whether clients are to trust it.
    package var isInKeySet: Bool { self.state != .retired }

    /// From then on every cache has it.
    var knownEverywhereAt: Timestamp { self.createdAt.adding(seconds: KeyRing.announcedSeconds) }
    /// For a superseded key: until then a document it signed may be fresh.
    var neededUntil: Timestamp {
        (self.supersededAt ?? self.createdAt).adding(seconds: KeyRing.supersededSeconds)
    }
}

/// All keys that ever signed documents: the state of the stream `keys`.
package struct KeyRing: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    package var keys: [String: SigningKey] = [:]
    package var activeKeyID: String?
    /// The roots of trust, each signed by the one before; the first has the version 1.
    package var roots: [PublishedRoot] = []

    /// How long a key is announced before it signs, without force: a day, so that every cache has it.
    package static let announcedSeconds: Int64 = 86_400
    /// How long a superseded key stays trusted, without force: longer than any document it signed is fresh.
    package static let supersededSeconds: Int64 = 7 * 86_400

    package init() {}

    /// The root of trust that clients are to have; nil where none was published.
    package var root: PublishedRoot? { self.roots.last }

    /// The key that signs now.
    package var active: SigningKey? { self.activeKeyID.flatMap { self.keys[$0] } }

    package mutating func evolve(_ event: KeyEvent, at time: Timestamp) {
        self.version += 1
        switch event {
        case .signingKeyCreated(let kid, let publicKey):
            self.keys[kid] = SigningKey(kid: kid, publicKey: publicKey, state: .announced, createdAt: time)
        case .signingKeyActivated(let kid):
            // Like the others, an event that does not fit (which `decide` never makes) changes nothing.
            guard self.keys[kid] != nil, self.activeKeyID != kid else { break }
            if let old = self.activeKeyID {
                self.keys[old]?.state = .superseded
                self.keys[old]?.supersededAt = time
            }
            self.keys[kid]?.state = .active
            self.keys[kid]?.activatedAt = time
            self.activeKeyID = kid
        case .signingKeyRetired(let kid):
            self.keys[kid]?.state = .retired
            self.keys[kid]?.retiredAt = time
            if self.activeKeyID == kid { self.activeKeyID = nil }
        case .rootPublished(let file):
            try? self.take(file, at: time)
        case .railsOverridden: break
        }
    }

    /// Adds the next root.
    mutating func take(_ file: SignedRoot, at time: Timestamp) throws(RootOfTrust.Failure) {
        self.roots.append(PublishedRoot(root: try self.successor(file), publishedAt: time))
    }

    /// The root that a file is the next one of, or that begins a new row.
    private func successor(_ file: SignedRoot) throws(RootOfTrust.Failure) -> RootOfTrust {
        guard let present = self.root?.root else { return try RootOfTrust(first: file) }
        return try RootOfTrust(restarting: file, after: present)
    }

    /// Whether clients of the present root do not take a file as the next one.
    func isRestart(_ file: SignedRoot) -> Bool {
        guard let present = self.root?.root else { return false }
        return (try? present.next(file)) == nil
    }

    /// The events that a command causes. ``SigningKeyRails`` judges whether signing keys overlap.
    func decide(_ command: KeyCommand, at now: Timestamp) throws(Refusal) -> [KeyEvent] {
        func key(_ kid: String) throws(Refusal) -> SigningKey {
            guard let key = self.keys[kid] else { throw .keyUnknown(kid) }
            return key
        }
        switch command {
        case .create(let kid, let publicKey):
            guard self.keys[kid] == nil else { throw .keyExists(kid) }
            let created = KeyEvent.signingKeyCreated(kid: kid, publicKey: publicKey)
            // Nothing can be signed without an active key, so there is nothing to overlap with.
            return self.activeKeyID == nil ? [created, .signingKeyActivated(kid: kid)] : [created]
        case .activate(let kid):
            let key = try key(kid)
            guard key.state != .active else { return [] }
            guard key.state == .announced else { throw .keyNotAnnounced(kid, key.state) }
            return [.signingKeyActivated(kid: kid)]
        case .retire(let kid):
            let key = try key(kid)
            switch key.state {
            case .active: throw .keyInUse(kid)
            case .retired: throw .keyRetired(kid)
            case .announced, .superseded: return [.signingKeyRetired(kid: kid)]
            }
        case .publishRoot(let file, let restarts):
            if let present = self.root?.root.file, present == file { return [] }
            do throws(RootOfTrust.Failure) {
                _ = try self.successor(file)
                if !restarts, let present = self.root?.root { _ = try present.next(file) }
            } catch { throw self.refusal(of: file, error) }
            let end = file.metadata.expiresAt
            guard now < end else { throw .rootExpired(end) }
            return [.rootPublished(file)]
        }
    }
}

extension KeyRing {
    private func refusal(of file: SignedRoot, _ failure: RootOfTrust.Failure) -> Refusal {
        let metadata = file.metadata
        guard failure == .missingSignatures else {
            return .rootVersion(metadata.version, expected: (self.root?.root.version ?? 0) + 1)
        }
        let roles = [
            self.root.map { ($0.root.version, $0.root.file.metadata.root) }, (metadata.version, metadata.root),
        ]
        let (version, role) =
            roles.compactMap { $0 }.first { !file.isSigned(by: $0.1) } ?? (metadata.version, metadata.root)
        return .rootUnsigned(rootVersion: version, signatures: file.signers(of: role).count, needed: role.threshold)
    }
}

/// A fact about a signing key or a root of trust. Private halves are never events: recorded data can never be erased.
package enum KeyEvent: Hashable, Sendable {
    case signingKeyCreated(kid: String, publicKey: [UInt8])
    case signingKeyActivated(kid: String)
    case signingKeyRetired(kid: String)
    case rootPublished(SignedRoot)
    /// An actor overrode a guard rail; the entry says who and why.
    case railsOverridden([OverriddenFinding])
}

/// A command about the signing keys.
package enum KeyCommand: Hashable, Sendable {
    case create(kid: String, publicKey: [UInt8])
    case activate(kid: String)
    case retire(kid: String)
    /// Gives clients the next root of trust.
    ///
    /// - Parameter restarts: Whether it may begin a new row, signed by its own keys alone: those of the root before are lost.
    case publishRoot(SignedRoot, restarts: Bool)
}

/// A root of trust that clients were given.
package struct PublishedRoot: Hashable, Sendable {
    package let root: RootOfTrust
    package let publishedAt: Timestamp
}
