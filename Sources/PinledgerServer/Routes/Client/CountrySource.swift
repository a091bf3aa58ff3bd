package import Countries
package import HTTPTypes
import HummingbirdCore
package import Probing

/// Who says in which country a client is: a proxy in front that knows, else a database by the client's address. Where
/// neither does, the client's own word is taken.
package struct CountrySource: Sendable {
    /// The field in which a proxy says it, which it MUST set or remove in every request.
    private let field: HTTPField.Name?
    private let database: CountryDatabase?
    /// Where proxies are whose word on clients' addresses is taken.
    private let trustedProxies: [IPNetwork]

    package init(
        field: HTTPField.Name? = nil, database: CountryDatabase? = nil, trustedProxies: [IPNetwork] = []
    ) {
        self.field = field
        self.database = database
        self.trustedProxies = trustedProxies
    }

    /// Whether only clients say it.
    var isEmpty: Bool { self.field == nil && self.database == nil }

    /// The country of who sent a request; nil where nobody but the client knows.
    func country(of exchange: Exchange) -> String? {
        if let field = self.field, let country = PreparedAnswer.joined(exchange.request.headers, field) {
            return country
        }
        guard let database = self.database else { return nil }
        return database.country(of: ClientAddress.of(exchange, trusted: self.trustedProxies).bytes)
    }
}
