/// IMAP (RFC 9051 section 6.2.1): greeting, `STARTTLS`.
struct IMAPDialogue: StartTLSDialogue {
    private enum State { case greeting, agreement }

    private var state = State.greeting
    private var lines = LineBuffer()

    mutating func begin() -> [UInt8] { [] }

    mutating func receive(_ bytes: some Collection<UInt8>) -> StartTLSStep {
        do { try self.lines.append(bytes) } catch { return .tooMuch }
        while let line = self.lines.next()?.uppercased() {
            switch self.state {
            case .greeting:
                guard line.hasPrefix("* ") else { return .unexpected("IMAP") }
                guard line.hasPrefix("* OK") else { return .refused("the host's greeting leaves no room for STARTTLS") }
                self.state = .agreement
                return .say("a STARTTLS")
            case .agreement:
                if line.hasPrefix("* ") { continue }
                guard line.hasPrefix("A OK") else { return .refused("the host declines STARTTLS") }
                return self.lines.isEmpty ? .ready(send: []) : .mixedIn
            }
        }
        return .waiting
    }
}
