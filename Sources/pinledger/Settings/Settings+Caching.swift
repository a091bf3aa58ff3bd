import PinledgerServer

extension Settings {
    /// How long clients and caches may keep what they fetch.
    var caching: ClientCaching {
        get throws {
            ClientCaching(maxAge: try self.integer(.documentMaxAge), staleIfError: try self.integer(.staleIfError))
        }
    }
}
