package import PinWire
package import Pinning

/// The answers to `GET /app/init` for one view: all of them except for the time and the version gate's answer, made
/// once so that an answer takes one concatenation.
///
/// The body is JSON with the members `timestamp`, `fingerprints`, `domainsConfig` and `verifyVersionResult` in this
/// order, the last two only where they have content: as in Wultra's mobile utility server 1.x and 2.x. It is sent with
/// `Cache-Control: no-store`, and signed by the rules of ``WultraChallenge``.
package struct WultraInitTemplate: Sendable {
    package let entries: [WultraEntry]
    /// From this instant on a view of the same document may have other answers; nil where time alone changes nothing.
    package let changesAt: Timestamp?
    private let gate: WultraVersionGate
    /// The text between the time and the gate's answer.
    private let middle: [UInt8]

    package init(_ view: ClientView, _ settings: ClientSettings) {
        let expiry = WultraExpiry(days: settings.entryDays, at: view.now)
        let entries = WultraEntry.entries(of: view, settings, expiry)
        self.entries = entries
        self.gate = WultraVersionGate(settings)
        var middle = Array(",\"fingerprints\":".utf8)
        OrderedJSON.array(entries.map(\.json)).append(to: &middle)
        if let domains = WultraDomains(view, settings) {
            middle.append(contentsOf: ",\"domainsConfig\":".utf8)
            domains.json.append(to: &middle)
        }
        self.middle = middle
        self.changesAt = Self.changes(of: view, expiry).filter { view.now < $0 }.min()
    }

    /// The body for a request that is answered at `now`.
    package func body(for request: WultraInitRequest, at now: Timestamp) -> [UInt8] {
        self.body(at: now, request.device.map { self.gate.result(for: $0, in: request.languages) })
    }

    /// - Parameters:
    ///   - now: When the answer is made; written in whole seconds since the epoch.
    ///   - result: The version gate's answer; nil where it was not asked.
    package func body(at now: Timestamp, _ result: WultraVersionResult? = nil) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(self.middle.count + 128 + (result?.message?.utf8.count ?? 0))
        body.append(contentsOf: "{\"timestamp\":".utf8)
        JSON.appendInteger(now.seconds, to: &body)
        body.append(contentsOf: self.middle)
        if let result {
            body.append(contentsOf: ",\"verifyVersionResult\":".utf8)
            result.json.append(to: &body)
        }
        body.append(UInt8(ascii: "}"))
        return body
    }

    /// The instants at which time changes the answers.
    private static func changes(of view: ClientView, _ expiry: WultraExpiry) -> [Timestamp] {
        let ends = view.hosts.flatMap { $0.pins.flatMap(\.certificates).map(\.notAfter) }
        let switches = view.document.killSwitches.flatMap { [$0.engagedAt, $0.expiresAt] }
        return ends + switches + [view.document.pinsValidUntil, expiry.nextStep].compactMap(\.self)
    }
}

/// The answer to `GET /app/init/public-key`, from which developers take the key that they build into an app.
package enum WultraPublicKey {
    /// JSON with `publicKey`: base64 of the uncompressed point.
    ///
    /// - Parameter point: The app's P-256 key as an uncompressed point (ANSI X9.63), 65 bytes.
    package static func body(_ point: [UInt8]) -> [UInt8] {
        OrderedJSON.members(["publicKey": .string(Base64.encode(point))]).bytes()
    }
}
