public import PinWire

// What support asks for.

extension PinledgerClient {
    /// All that is known of a host's pins here and now, for a support screen or a log: one JSON object, without any id.
    ///
    /// `time`, `app`, `host`; `document` (`version`, `key_id`, `issued_at`, `expires_at`) that holds, and `stored_version`; `root_version`;
    /// `device` without its ids; `decision` for the host with each rule's result, as `pinledger explain` prints it; and what fails:
    /// `refresh_failure`, `store_failure`, `root_failure`. What there is not is left out. The app adds the id by which it finds its user.
    public func diagnostics(for host: String) -> JSON {
        let (policy, now) = (self.policy, self.now)
        let document = policy.document.map { document in
            JSON.members([
                "version": .integer(document.version),
                "key_id": .string(document.keyID),
                "issued_at": .string(document.issued.issuedAt.rfc3339),
                "expires_at": .string(document.issued.expiresAt.rfc3339),
            ])
        }
        let device = JSON.members([
            "app_version": policy.device.appVersion.map { .string("\($0)") },
            "build": policy.device.build.map { .integer($0) },
            "country": policy.device.country.map { .string("\($0)") },
        ])
        return .members([
            "time": .string(now.rfc3339),
            "app": .string(self.configuration.app.text),
            "host": .string(host),
            "document": document,
            "stored_version": self.storedVersion > 0 ? .integer(self.storedVersion) : nil,
            "root_version": self.root.map { .integer($0.version) },
            "device": device,
            "decision": policy.explain(host, at: now)?.json,
            "refresh_failure": self.lastFailure.map { .string("\($0)") },
            "store_failure": self.storeFailure.map { .string($0) },
            "root_failure": self.rootFailure.map { .string("\($0)") },
        ])
    }
}
