public import PinWire

/// What goes wrong beside the app's own calls: for its log, and for what alarms its developers. A client that never gets a document
/// says so nowhere else.
@nonexhaustive
public enum ClientFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The document that ships with the app is not used, which is a mistake of the build. Not told where it is merely older than the held one, or a
    /// later root of trust leaves out its key.
    case builtinDocument(VerificationFailure)
    /// The stored document is not used. Not told where it is merely older than the one that ships with the app.
    case storedDocument(VerificationFailure)
    /// The store cannot be read or written, with its words.
    case store(String)
    /// The document that holds, of this version, says nothing of hosts that the app expects in it: their connections are unpinned.
    case uncoveredHosts([HostPattern], version: Int64)
    /// No service, or no stream, had a document; the held one stays.
    case refresh(RefreshFailure)
    /// A service has a next root of trust that is not to be trusted; the present one stays.
    case root(RootOfTrust.Failure)

    public var description: String {
        switch self {
        case .builtinDocument(let failure): "the document that ships with the app is not used: \(failure)"
        case .storedDocument(let failure): "the stored document is not used: \(failure)"
        case .store(let words): "the store of the document fails: \(words)"
        case .uncoveredHosts(let hosts, let version):
            "document \(version) says nothing of \(hosts.map(\.text).joined(separator: ", ")): connections to them are unpinned"
        case .refresh(let failure): "no service has a document: \(failure)"
        case .root(let failure): "the next root of trust is refused: \(failure)"
        }
    }
}
