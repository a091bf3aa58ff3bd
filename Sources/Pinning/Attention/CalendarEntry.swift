package import PinWire

/// One date that an app's operators have to know beforehand.
package struct CalendarEntry: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable, Hashable {
        /// The newest known certificate of a pinned key expires.
        case certificateExpires = "certificate_expires"
        /// A certificate that is served now expires.
        case servedCertificateExpires = "served_certificate_expires"
        /// Clients that hear nothing stop enforcing.
        case pinsValidUntil = "pins_valid_until"
        /// A kill switch ends, and pinning is on again.
        case killSwitchEnds = "kill_switch_ends"
        /// Time alone has brought about what a rotation waits for.
        case rotationDue = "rotation_due"
        /// A rollout's plan begins.
        case rolloutStarts = "rollout_starts"
        /// Time alone has brought about what a rollout's plan waits for.
        case rolloutDue = "rollout_due"
    }

    package let kind: Kind
    package let date: Timestamp
    package let app: AppID
    package var host: HostPattern?
    package var pin: Pin?
    /// The best role that the pin has; nil for what is no pin's.
    package var role: PinRole?
    package var endpoint: Endpoint?
    /// The name of the rotation.
    package var rotation: String?
    package var certificate: CertificateFacts?
    /// What happens then, in one sentence.
    package let summary: String
    /// How many seconds before the date it is announced, the earliest first.
    package var leads: [Int64]
    /// What it is known by in calendars: the same for as long as it is about the same thing, whatever its date.
    package let uid: String

    /// - Parameter subject: What it is about, besides kind and app.
    init(
        _ kind: Kind, at date: Timestamp, of app: App, about subject: [String], host: HostPattern? = nil,
        leads: [Int64], summary: String
    ) {
        self.kind = kind
        self.date = date
        self.app = app.id
        self.host = host
        self.summary = summary
        self.leads = leads
        // With the app's first instant, so that two deployments do not share it.
        let identity = [kind.rawValue, app.id.text, app.createdAt.rfc3339] + subject
        let digest = sha256(Array(identity.joined(separator: "\u{0}").utf8))
        self.uid = "\(Hex.encode(digest.prefix(16)))@pinledger"
    }

    /// How long the certificate lives in all, in seconds; nil for what is no certificate's.
    package var life: Int64? { self.certificate.map { $0.notAfter.seconds - $0.notBefore.seconds } }

    /// Whether it is to be announced by now, or past.
    package func isAnnounced(at now: Timestamp) -> Bool {
        self.date <= now.adding(seconds: self.leads.first ?? 0)
    }

    /// The nearest lead that has come: 0 where the date is past, nil where none has.
    func lead(at now: Timestamp) -> Int64? {
        self.date <= now ? 0 : self.leads.filter { self.date <= now.adding(seconds: $0) }.min()
    }

    package var json: JSON {
        .members([
            "uid": .string(self.uid),
            "kind": .string(self.kind.rawValue),
            "date": .string(self.date.rfc3339),
            "host": self.host.map { .string($0.text) },
            "pin": self.pin.map { .string($0.description) },
            "role": self.role.map { .string($0.rawValue) },
            "endpoint": self.endpoint.map { .string($0.description) },
            "rotation": self.rotation.map { .string($0) },
            "certificate": self.certificate.map {
                [
                    "subject": .string($0.subject), "issuer": .string($0.issuer), "serial": .string($0.serial),
                    "sha256": .string(Hex.encode($0.sha256)),
                ]
            },
            "summary": .string(self.summary),
            "announced_at": .array(self.leads.map { .string(self.date.adding(seconds: -$0).rfc3339) }),
        ])
    }
}
