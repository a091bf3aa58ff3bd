/// A protocol that begins in clear and switches to TLS on request.
package enum StartTLS: String, Hashable, Sendable, CaseIterable {
    case smtp, imap, postgres

    /// The protocol's port without TLS, where it accepts the request.
    package var defaultPort: Int {
        switch self {
        case .smtp: 25
        case .imap: 143
        case .postgres: 5432
        }
    }

    /// A new dialogue of this protocol.
    package var dialogue: any StartTLSDialogue {
        switch self {
        case .smtp: SMTPDialogue()
        case .imap: IMAPDialogue()
        case .postgres: PostgresDialogue()
        }
    }
}

/// The dialogue before TLS, as a value that takes and gives bytes.
///
/// Its buffer has a bound, and it never repeats the host's own text. Bytes that follow the host's agreement are
/// refused: a TLS server does not send before the client does, and an attacker who mixes them in wants them taken for
/// protected.
package protocol StartTLSDialogue: Sendable {
    /// The client's first bytes; empty where the host greets first.
    mutating func begin() -> [UInt8]

    /// Takes bytes from the host. After ``StartTLSStep/ready(send:)`` and ``StartTLSStep/refused(_:)`` the dialogue is
    /// over.
    mutating func receive(_ bytes: some Collection<UInt8>) -> StartTLSStep
}

/// The next step after bytes were received.
package enum StartTLSStep: Hashable, Sendable {
    /// Send this, which may be nothing, and wait.
    case wait(send: [UInt8])
    /// Send this, which may be nothing, and begin with TLS.
    case ready(send: [UInt8])
    /// There will be no TLS, as a whole sentence.
    case refused(String)
}

extension StartTLSStep {
    static let waiting = Self.wait(send: [])
    static let tooMuch = Self.refused("the host said more before TLS than its protocol needs")
    static let mixedIn = Self.refused("the host sent bytes in clear behind its agreement to TLS")

    static func say(_ line: String) -> Self { .wait(send: Array("\(line)\r\n".utf8)) }

    static func unexpected(_ protocolName: String) -> Self { .refused("the host does not speak \(protocolName)") }
}
