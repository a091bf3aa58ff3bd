package import PinWire

/// One date that an app's operators have to know in advance.
package struct CalendarEntry: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable, Hashable {
        /// The newest known certificate of a pinned key expires.
        case certificateExpires = "certificate_expires"
        /// A certificate that is served now expires.
        case servedCertificateExpires = "served_certificate_expires"
        /// Clients that receive no document stop enforcing.
        case pinsValidUntil = "pins_valid_until"
        /// A kill switch ends, and pinning is on again.
        case killSwitchEnds = "kill_switch_ends"
        /// Only time is left of what a rotation waits for, and it is over now.
        case rotationDue = "rotation_due"
        /// A rollout's plan begins.
        case rolloutStarts = "rollout_starts"
        /// Only time is left of what a rollout's plan waits for, and it is over now.
        case rolloutDue = "rollout_due"
    }

    package let kind: Kind
    package let date: Timestamp
    package let app: AppID
    package var host: HostPattern?
    package var pin: Pin?
    /// The best role of the pin; nil where there is no pin.
    package var role: PinRole?
    package var endpoint: Endpoint?
    /// The name of the rotation.
    package var rotation: String?
    package var certificate: CertificateFacts?
    /// What happens then, in one sentence.
    package let summary: String
    /// How many seconds before the date it is announced, the earliest first.
    package var leads: [Int64]
    /// The entry's id in calendars: the same for as long as it is about the same thing, whatever its date.
    package let uid: String

    /// - Parameter subject: The subject, besides kind and app.
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

    /// The certificate's whole life in seconds; nil where there is no certificate.
    package var life: Int64? { self.certificate.map { $0.notAfter.seconds - $0.notBefore.seconds } }

    /// Whether it is to be announced by now, or past.
    package func isAnnounced(at now: Timestamp) -> Bool {
        self.date <= now.adding(seconds: self.leads.first ?? 0)
    }

    /// The nearest lead reached: 0 where the date is past, nil where none is.
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
