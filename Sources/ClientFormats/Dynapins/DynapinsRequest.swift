import PinWire

/// What a Dynapins client asks for: `GET …/v1/pins?domain=…`.
package struct DynapinsRequest: Hashable, Sendable {
    /// The domain as it was asked for: a host name in any case, or `*.` and one. It is echoed to the letter, for
    /// clients compare it with what they asked for and know wildcards only by rules too wide to rely on.
    package let domain: String

    /// Reads a query.
    ///
    /// - Parameter query: The parameters in their order, decoded. Of several domains the first counts; all other
    ///   parameters are passed over, among them `include-backup-pins`: backups are always included.
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
