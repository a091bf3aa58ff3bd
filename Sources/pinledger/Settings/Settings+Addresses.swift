import Addresses

extension Settings {
    /// An address to listen on, from a setting's text.
    func address(_ setting: Setting, _ text: String) throws -> ListenAddress {
        do { return try ListenAddress(text) } catch let failure as CommandFailure {
            throw self.failure(setting, "is no address to listen on: \(failure.message)")
        }
    }

    /// The ranges of addresses of a setting.
    func networks(_ setting: Setting, _ flag: [String]) throws -> [IPNetwork] {
        try self.list(setting, flag).map { text in
            do throws(IPNetwork.Malformed) { return try IPNetwork(text) } catch {
                throw self.failure(setting, "must be ranges of addresses, and \(text) \(error.description)")
            }
        }
    }
}
