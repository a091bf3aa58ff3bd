/// The secret with which an app's clients sign their reports.
///
/// Its text, `tlsec_` and base64, is shown once, to the person who creates it; printing or dumping the value shows
/// nothing.
package struct TelemetrySecret: DrawnSecret {
    private static let prefix = "tlsec_"

    private let key: MessageKey

    /// Draws a new secret.
    package static func generate() -> TelemetrySecret { TelemetrySecret(key: .generate()) }

    private init(key: MessageKey) {
        self.key = key
    }

    /// The whole text: the secret itself. It MUST NOT be stored or logged.
    package var revealedText: String { self.key.revealedText(prefix: Self.prefix) }

    /// Whether a code is the one of a request for an app.
    ///
    /// - Parameters:
    ///   - time: Seconds since the epoch, as the request states them.
    ///   - body: As it was sent, compressed if it was.
    package func isAuthentic(_ code: [UInt8], app: String, time: Int64, body: [UInt8]) -> Bool {
        self.key.isAuthentic(code, of: Self.head(app, time), body)
    }

    /// The code of a request for an app: 32 bytes.
    package func code(app: String, time: Int64, body: [UInt8]) -> [UInt8] {
        self.key.code(of: Self.head(app, time), body)
    }

    private static func head(_ app: String, _ time: Int64) -> [UInt8] {
        Array("pinledger-reports/v1\n\(app)\n\(time)\n".utf8)
    }

    package func sealed(as id: String, of owner: String, with key: KeyEncryptionKey) -> SealedSecret {
        self.key.sealed(under: Self.label(id, of: owner), with: key)
    }

    package init(
        opening sealed: SealedSecret, as id: String, of owner: String, with key: KeyEncryptionKey
    ) throws(SealedSecret.Invalid) {
        self.init(key: try MessageKey(opening: sealed, under: Self.label(id, of: owner), with: key))
    }

    /// The label that binds a sealed secret to its name and its app.
    package static func label(_ id: String, of app: String) -> SealingLabel {
        SealingLabel(role: "telemetry", algorithm: "HMAC-SHA256", keyID: id, publicKey: Array(app.utf8))
    }
}

extension TelemetrySecret: CustomStringConvertible, CustomReflectable {
    /// Never the secret.
    package var description: String { "tlsec_…" }

    /// Shows nothing to `dump`.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public names of keys with which reports are signed: `tlk_` and 16 base62 characters.
package enum TelemetryKeyName {
    /// Draws a name: 95 random bits.
    package static func draw() -> String { "tlk_" + Random.base62(16) }

    /// Whether a text has the form of such a name.
    package static func isName(_ text: String) -> Bool {
        text.utf8.count == 20 && text.hasPrefix("tlk_") && text.utf8.dropFirst(4).allSatisfy(Base62.alphabet.contains)
    }
}
