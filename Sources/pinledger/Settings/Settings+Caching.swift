import PinledgerServer

extension Settings {
    /// How long clients and caches may keep what they fetch, by the flags of a server or an edge.
    func caching(_ maxAge: Int?, _ staleIfError: Int?) throws -> ClientCaching {
        let standard = ClientCaching()
        return ClientCaching(
            maxAge: try self.number(.documentMaxAge, maxAge, or: standard.maxAge, in: 0...86_400),
            staleIfError: try self.number(
                .staleIfError, staleIfError, or: standard.staleIfError, in: 0...ClientCaching.longestStaleIfError))
    }
}
