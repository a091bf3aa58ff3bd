import PinWire

/// What the entries of a format can say of names.
package struct NameMatching: Sendable {
    /// What an entry with pins can stand for, the widest first.
    package var reaches: [NameReach]
    /// What an entry can stand for that excepts names from a wider one's pins; empty where there is no such entry.
    package var exceptions: [NameReach] = []
    /// Whether one name can have several entries.
    package var isRepeatable = false
    package var overlap = Overlap.nearest
    /// The systems on which ``overlap`` holds, to begin a sentence with; nil for all.
    var overlapsOn: String?
    /// Whether the app asks for each name that it connects to, and this server finds the pattern.
    var isLookedUp = false
    /// What ``reaches`` says, as a sentence without its full stop.
    package var words = "An entry stands for one name"
    /// What becomes of a wildcard that no entry stands for; nil where one always does.
    var wildcard: NameLimit?
    /// What becomes of names below a host that no entry stands for; nil where one always does.
    var subdomains: NameLimit?

    /// Whose pins hold for a name that several entries stand for.
    package enum Overlap: Sendable {
        /// Those of the entry with the longest name.
        case nearest
        /// Those of all of them.
        case sum
        /// The client's makers do not say.
        case unknown
    }

    /// Whether a wildcard is an entry of its own.
    var hasWildcards: Bool { self.reaches.contains(.below) }

    /// How far an entry reaches that stands for a name and others below it; nil where there is none.
    var subtree: NameReach? { self.reaches.first { $0.isSuperset(of: [.own, .below]) } }

    /// Entries for one name.
    static func exact(
        isLookedUp: Bool = false, _ wildcard: NameLimit, subdomains: NameLimit = .exactNames
    ) -> NameMatching {
        NameMatching(reaches: [.own], isLookedUp: isLookedUp, wildcard: wildcard, subdomains: subdomains)
    }

    /// Entries for one name, or for that and all names below it.
    package static func subtrees(exceptions: [NameReach] = []) -> NameMatching {
        Self.subtrees(exceptions: exceptions, overlap: .nearest)
    }

    /// - Parameters:
    ///   - systems: Those on which `overlap` holds, to begin a sentence with; nil for all.
    ///   - subdomains: What becomes of names below a host all the same.
    static func subtrees(
        exceptions: [NameReach] = [], overlap: Overlap, on systems: String? = nil, subdomains: NameLimit? = nil
    ) -> NameMatching {
        NameMatching(
            reaches: [.all, .own], exceptions: exceptions, overlap: overlap, overlapsOn: systems,
            words: "An entry stands for one name, or for that and all names below it", wildcard: .noWildcards,
            subdomains: subdomains)
    }
}

/// What a kind makes of names that its entries do not stand for.
struct NameLimit: Sendable {
    /// Nil for ``ClientLimit/wildcard`` or ``ClientLimit/subdomains``.
    var limit: ClientLimit?
    /// Nil where it depends on the certificates that are known.
    var severity: ClientFinding.Severity? = .differs
    /// What to do, of the host's name; nil to add each name as a host.
    var remedy: (@Sendable (String) -> String)?
    /// What is the matter, of a host and the kind's title; nil where that host is no such case.
    var detail: @Sendable (_ host: ClientView.Host, _ title: String) -> String?

    /// A wildcard where an entry stands for one name, or for that and all names below it.
    static let noWildcards = NameLimit { host, title in
        "\(title) has no wildcards, and subdomains of \(host.pattern.name) include \(host.pattern.name) and all names below it: \(host.pattern) is left out and not pinned."
    }

    /// Names below a host where an entry stands for one name.
    static let exactNames = NameLimit { host, title in
        "\(title) pins exact names: names below \(host.pattern) are not pinned."
    }

    /// A wildcard where certificates are compared.
    static let knownCertificates = NameLimit(severity: nil) { host, title in
        "\(title) compares whole certificates: for \(host.pattern) it trusts only those known here, and refuses any other of the same key."
    }

    /// Names below a host where certificates are compared.
    static let knownCertificatesBelow = NameLimit(severity: nil) { host, title in
        "\(title) compares whole certificates: below \(host.pattern) it trusts only those known here, and refuses any other of the same key."
    }
}
