import PinWire

/// A Dynapins client's request: `GET …/v1/pins?domain=…`.
package struct DynapinsRequest: Hashable, Sendable {
    /// The domain in the spelling of the request: a host name in any case, or `*.` and one. It is echoed to the letter,
    /// because clients compare it with their own spelling and know wildcards only by rules too wide to rely on.
    package let domain: String

    /// Reads a query.
    ///
    /// - Parameter query: The parameters in their order, decoded. The first of several domains counts; all other
    ///   parameters are ignored, among them `include-backup-pins`: backups are always included.
    /// - Throws: ``DynapinsError/missingDomain`` or ``DynapinsError/invalidDomain``.
    package init(query: [(name: String, value: String)]) throws(DynapinsError) {
        guard let domain = query.first(where: { $0.name == "domain" })?.value, !domain.isEmpty else {
            throw .missingDomain
        }
        guard domain.utf8.count <= 253, domain.utf8.allSatisfy({ $0 < 0x80 }),
            (try? HostPattern(domain.lowercased())) != nil
        else { throw .invalidDomain }
        self.domain = domain
    }
}
