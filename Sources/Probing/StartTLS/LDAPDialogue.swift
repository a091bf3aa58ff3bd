/// LDAP's StartTLS (RFC 4511 section 4.14): one extended request, one extended response.
struct LDAPDialogue: StartTLSDialogue {
    private static let maximumBytes = 4096

    private var bytes: [UInt8] = []

    mutating func begin() -> [UInt8] {
        let name = Array("1.3.6.1.4.1.1466.20037".utf8)
        // A sequence of message 1 and an extended request ([APPLICATION 23]) with its name ([0]).
        return [0x30, UInt8(name.count + 7), 2, 1, 1, 0x77, UInt8(name.count + 2), 0x80, UInt8(name.count)] + name
    }

    mutating func receive(_ bytes: some Collection<UInt8>) -> StartTLSStep {
        self.bytes += bytes.prefix(Self.maximumBytes + 1)
        guard self.bytes.count <= Self.maximumBytes else { return .tooMuch }
        guard self.bytes.isEmpty || self.bytes[0] == 0x30 else { return .unexpected("LDAP") }
        switch Self.element(0x30, self.bytes[...]) {
        case .short:
            return .waiting
        case .other:
            return .unexpected("LDAP")
        case .element(let message, let rest):
            guard rest.isEmpty else { return .mixedIn }
            // The message's number, then the extended response ([APPLICATION 24]), which begins with the result.
            guard case .element(_, let afterNumber) = Self.element(2, message),
                case .element(let response, _) = Self.element(0x78, afterNumber),
                case .element(let result, _) = Self.element(10, response), result.count == 1, let code = result.first
            else { return .unexpected("LDAP") }
            return code == 0 ? .ready(send: []) : .refused("the host declines StartTLS with result \(code)")
        }
    }

    private enum Parsed {
        case element(contents: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)
        case short, other
    }

    /// One element of BER with that tag.
    private static func element(_ tag: UInt8, _ bytes: ArraySlice<UInt8>) -> Parsed {
        guard let first = bytes.first else { return .short }
        guard first == tag else { return .other }
        var rest = bytes.dropFirst()
        guard let form = rest.popFirst() else { return .short }
        var length = Int(form)
        if form >= 0x80 {
            let count = Int(form & 0x7F)
            // Four bytes, whatever the value, are what Active Directory writes.
            guard (1...4).contains(count) else { return .other }
            guard rest.count >= count else { return .short }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard length <= Self.maximumBytes else { return .other }
        guard rest.count >= length else { return .short }
        return .element(contents: rest.prefix(length), rest: rest.dropFirst(length))
    }
}
