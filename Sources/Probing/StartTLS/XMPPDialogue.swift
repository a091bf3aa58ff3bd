import PinWire

/// XMPP's STARTTLS for clients (RFC 6120 section 5): stream and features, `<starttls/>`, `<proceed/>`.
///
/// It looks at tags only, by their local names, which is enough to begin TLS and for nothing else.
struct XMPPDialogue: StartTLSDialogue {
    private enum State { case features, agreement }

    private static let maximumBytes = 16 * 1024
    private static let namespace = "urn:ietf:params:xml:ns:xmpp-tls"

    private let name: String
    private var state = State.features
    private var isOffered = false
    private var total = 0
    private var bytes: [UInt8] = []
    /// How many of the bytes are known to hold no tag's end: each is looked at once, however slowly they come.
    private var searched = 0

    /// - Parameter name: A host name or an address, neither of which has characters that XML would escape.
    init(name: String) {
        self.name = name
    }

    mutating func begin() -> [UInt8] {
        let opening =
            "<?xml version='1.0'?><stream:stream to='\(self.name)' version='1.0' xmlns='jabber:client' "
            + "xmlns:stream='http://etherx.jabber.org/streams'>"
        return Array(opening.utf8)
    }

    mutating func receive(_ bytes: some Collection<UInt8>) -> StartTLSStep {
        if self.total == 0, let first = bytes.first, first != UInt8(ascii: "<") { return .unexpected("XMPP") }
        self.total += bytes.count
        guard self.total <= Self.maximumBytes else { return .tooMuch }
        self.bytes += bytes
        while let tag = self.nextTag() {
            switch (self.state, tag.name, tag.isEnd) {
            case (_, "error", _): return .refused("the host declines with an error of XMPP")
            case (.features, "starttls", _):
                self.isOffered = true
            case (.features, "features", true):
                guard self.isOffered else { return .refused("the host does not offer STARTTLS") }
                self.state = .agreement
                return .wait(send: Array("<starttls xmlns='\(Self.namespace)'/>".utf8))
            case (.agreement, "failure", _): return .refused("the host declines STARTTLS")
            case (.agreement, "proceed", true): return self.bytes.isEmpty ? .ready(send: []) : .mixedIn
            default: continue
            }
        }
        return .waiting
    }

    /// The next tag, without what stands before it; `isEnd` where it closes its element, itself or another's.
    private mutating func nextTag() -> (name: String, isEnd: Bool)? {
        guard let end = self.bytes[self.searched...].firstIndex(of: UInt8(ascii: ">")) else {
            self.searched = self.bytes.count
            return nil
        }
        let start = self.bytes[..<end].lastIndex(of: UInt8(ascii: "<")) ?? -1
        let slash = UInt8(ascii: "/")
        var tag = self.bytes[(start + 1)..<end]
        let isEnd = tag.first == slash || tag.last == slash
        if tag.first == slash { tag.removeFirst() }
        let qualified = tag.prefix { $0 > UInt8(ascii: " ") && $0 != slash }
        let local = qualified.split(separator: UInt8(ascii: ":")).last ?? []
        self.bytes.removeSubrange(...end)
        self.searched = 0
        return (String(shown: local), isEnd)
    }
}
