import Addresses
package import Countries
package import HTTPTypes
import HummingbirdCore

/// The source of a client's country: a proxy in front that knows it, else a database by the client's address. Where
/// neither does, the client's own statement is used.
package struct CountrySource: Sendable {
    /// The field in which a proxy states it, which it MUST set or remove in every request.
    private let field: HTTPField.Name?
    private let database: CountryDatabase?
    /// The addresses of proxies whose statement of clients' addresses is trusted.
    private let trustedProxies: TrustedProxies

    package init(
        field: HTTPField.Name? = nil, database: CountryDatabase? = nil,
        trustedProxies: TrustedProxies = TrustedProxies()
    ) {
        self.field = field
        self.database = database
        self.trustedProxies = trustedProxies
    }

    /// Whether only clients state it.
    var isEmpty: Bool { self.field == nil && self.database == nil }

    /// The country of a request's sender; nil where only the client knows it.
    func country(of exchange: Exchange) -> String? {
        if let field = self.field, let country = PreparedAnswer.joined(exchange.request.headers, field) {
            return country
        }
        guard let database = self.database else { return nil }
        return database.country(of: ClientAddress.of(exchange, trusted: self.trustedProxies.networks).bytes)
    }
}
