/// PostgreSQL's SSLRequest (protocol 3.0, section "SSL Session Encryption"): one message, one byte in answer.
struct PostgresDialogue: StartTLSDialogue {
    mutating func begin() -> [UInt8] {
        // Length 8, code 1234·5679.
        [0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F]
    }

    mutating func receive(_ bytes: some Collection<UInt8>) -> StartTLSStep {
        switch bytes.first {
        case nil: .waiting
        case UInt8(ascii: "S"): bytes.count == 1 ? .ready(send: []) : .mixedIn
        case UInt8(ascii: "N"): .refused("the host has no TLS for PostgreSQL")
        case UInt8(ascii: "E"): .refused("the host declines with an error of PostgreSQL")
        default: .unexpected("PostgreSQL")
        }
    }
}

/// MySQL's SSL request (protocol 10): greeting with the host's abilities, then a short answer.
struct MySQLDialogue: StartTLSDialogue {
    /// The longest greeting there is has some hundred bytes.
    private static let maximumBytes = 4096
    private static let secure: UInt16 = 0x0800

    private var bytes: [UInt8] = []

    mutating func begin() -> [UInt8] { [] }

    mutating func receive(_ bytes: some Collection<UInt8>) -> StartTLSStep {
        self.bytes += bytes.prefix(Self.maximumBytes + 1)
        guard self.bytes.count <= Self.maximumBytes else { return .tooMuch }
        guard self.bytes.count >= 4 else { return .waiting }
        let length = Int(self.bytes[0]) | Int(self.bytes[1]) << 8 | Int(self.bytes[2]) << 16
        guard self.bytes[3] == 0, (1...Self.maximumBytes - 4).contains(length) else { return .unexpected("MySQL") }
        guard self.bytes.count >= 4 + length else { return .waiting }
        guard self.bytes.count == 4 + length else { return .mixedIn }
        let greeting = self.bytes[4...]
        if greeting.first == 0xFF { return .refused("the host declines with an error of MySQL") }
        guard greeting.first == 10, let end = greeting.firstIndex(of: 0) else { return .unexpected("MySQL") }
        // Thread 4, salt 8, filler 1, then the lower half of the abilities.
        let abilities = end + 1 + 13
        guard greeting.indices.contains(abilities + 1) else { return .unexpected("MySQL") }
        let offered = UInt16(greeting[abilities]) | UInt16(greeting[abilities + 1]) << 8
        guard offered & Self.secure != 0 else { return .refused("the host has no TLS for MySQL") }
        // Protocol 4.1, TLS and the long salt; packets of 16 MiB; utf8mb4; 23 bytes that are reserved.
        return .ready(send: [32, 0, 0, 1, 0x00, 0x8A, 0, 0, 0, 0, 0, 1, 45] + [UInt8](repeating: 0, count: 23))
    }
}
