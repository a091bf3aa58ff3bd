package import PinWire

/// The proof that a request comes from an app: the field `Pinledger-Signature`, a dictionary (RFC 8941).
///
/// `keyid="tlk_…", time=1767225600, mac=:…:`: the key's name, the time of the signature in seconds since the epoch, and
/// the HMAC-SHA-256 of `pinledger-reports/v1`, the app and the time, a line each, and the body as it is sent.
package struct ReportSignature: Hashable, Sendable {
    package let keyID: String
    /// Seconds since the epoch.
    package let time: Int64
    package let code: [UInt8]

    package static let fieldName = "Pinledger-Signature"

    /// The most seconds between a request's time and ours: the memory for replays has to last as long.
    package static let tolerance: Int64 = 300

    /// Nil for a malformed field.
    package init?(field: String) {
        guard let members = StructuredDictionary(field), case .string(let keyID)? = members["keyid"],
            case .integer(let time)? = members["time"], case .bytes(let code)? = members["mac"], code.count == 32
        else { return nil }
        self.keyID = keyID
        self.time = time
        self.code = code
    }

    package init(keyID: String, time: Int64, code: [UInt8]) {
        self.keyID = keyID
        self.time = time
        self.code = code
    }

    /// The field's value.
    package var field: String { "keyid=\"\(self.keyID)\", time=\(self.time), mac=:\(Base64.encode(self.code)):" }

    /// Whether it was signed about now.
    package func isTimely(at now: Timestamp) -> Bool { abs(now.seconds - self.time) <= Self.tolerance }
}
