/// SMTP (RFC 3207): greeting, `EHLO`, `STARTTLS`.
struct SMTPDialogue: StartTLSDialogue {
    private enum State { case greeting, extensions, agreement }

    private var state = State.greeting
    private var replies = ReplyBuffer()

    mutating func begin() -> [UInt8] { [] }

    mutating func receive(_ bytes: some Collection<UInt8>) -> StartTLSStep {
        do { try self.replies.append(bytes) } catch { return .tooMuch }
        do {
            while let reply = try self.replies.next() {
                switch (self.state, reply.code) {
                case (.greeting, 220):
                    self.state = .extensions
                    // A reserved name (RFC 2606): the probe sends no mail.
                    return .say("EHLO probe.invalid")
                case (.extensions, 250):
                    guard reply.lines.dropFirst().contains(where: { $0.uppercased() == "STARTTLS" }) else {
                        return .refused("the host does not offer STARTTLS")
                    }
                    self.state = .agreement
                    return .say("STARTTLS")
                case (.agreement, 220):
                    return self.replies.lines.isEmpty ? .ready(send: []) : .mixedIn
                case (.greeting, let code):
                    return .refused("the host greets with \(code)")
                case (.extensions, let code):
                    return .refused("the host answers EHLO with \(code)")
                case (.agreement, let code):
                    return .refused("the host answers STARTTLS with \(code)")
                }
            }
            return .waiting
        } catch {
            return .unexpected("SMTP")
        }
    }
}
