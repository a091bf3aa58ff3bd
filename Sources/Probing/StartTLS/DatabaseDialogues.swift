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
