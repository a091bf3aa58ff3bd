import PinWire

/// The advice where a service presents a key that is not pinned.
///
/// It begins with the server: publishing the pin of a presented key would let in any server that presents it.
enum WrongKey {
    static func remedy(_ endpoint: Endpoint, _ chain: ObservedChain, of pattern: HostPattern, in app: AppID) -> String {
        "Redeploy the right certificate at \(endpoint), one whose key is pinned (`pinledger host show \(app) \(pattern)` lists them)\(Self.names(of: chain, pattern)); look again with `pinledger probe \(endpoint)`. Only if you have made the presented key yourselves and it is to stay, publish its pin: `pinledger pin add \(app) \(pattern) FILE`."
    }

    /// The presented certificate's names, as a clause; empty where they fit or are unknown.
    private static func names(of chain: ObservedChain, _ pattern: HostPattern) -> String {
        guard let leaf = chain.certificates.first, case .notCovered(let names) = leaf.covers(pattern) else { return "" }
        let plain = names.filter { $0.utf8.count <= 253 && $0.utf8.allSatisfy { (33...126).contains($0) } }
        guard !plain.isEmpty else { return "; the one presented is not for \(pattern)" }
        let more = names.count > 3 ? " and other names" : ""
        return "; the one presented is for \(plain.prefix(3).joined(separator: ", "))\(more), not for \(pattern)"
    }
}
