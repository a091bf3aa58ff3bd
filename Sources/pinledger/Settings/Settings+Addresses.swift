import Addresses

extension Settings {
    /// An address to listen on; nil where the setting is given nowhere and has no default.
    func address(ifGiven setting: Setting) throws -> ListenAddress? {
        guard let text = self.text(setting) else { return nil }
        do { return try ListenAddress(text) } catch let failure as CommandFailure {
            throw self.failure(setting, "is no address to listen on: \(failure.message)")
        }
    }

    func address(_ setting: Setting) throws -> ListenAddress {
        guard let address = try self.address(ifGiven: setting) else { throw self.failure(setting, "is not given") }
        return address
    }

    /// The ranges of addresses of a setting.
    func networks(_ setting: Setting) throws -> [IPNetwork] {
        try self.list(setting).map { text in
            do throws(IPNetwork.Malformed) { return try IPNetwork(text) } catch {
                throw self.failure(setting, "must be ranges of addresses, and \(text) \(error.description)")
            }
        }
    }
}
