/// A protocol that begins in clear and turns to TLS on request.
package enum StartTLS: String, Hashable, Sendable, CaseIterable {
    case smtp, imap, postgres

    /// The port it has without TLS, where the request is heard.
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

/// The talk before TLS, as a value that bytes go into and come out of.
///
/// What it buffers has a bound, and it never repeats the host's own words. Bytes that follow the host's agreement are
/// refused: nobody who speaks TLS sends before the client does, and who mixes them in wants them taken for protected.
package protocol StartTLSDialogue: Sendable {
    /// What the client says unasked; empty where the host greets first.
    mutating func begin() -> [UInt8]

    /// Takes what the host sent. After ``StartTLSStep/ready(send:)`` and ``StartTLSStep/refused(_:)`` it is over.
    mutating func receive(_ bytes: some Collection<UInt8>) -> StartTLSStep
}

/// What comes after something was received.
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
