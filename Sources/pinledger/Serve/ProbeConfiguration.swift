import Addresses
import Foundation
import PinWire
import Pinning
import Probing
import Signals

/// A node's settings for probes.
struct ProbeConfiguration: Sendable {
    /// Nil where the node probes only on request.
    var vantage: String?
    var interval: Int64
    /// Addresses of names for which DNS is not used.
    var addresses: [String: [IPAddress]]
    /// Names under which clients reach this service.
    var ownHosts: Set<String>
    /// The directories of ACME servers that are asked when to renew certificates.
    var acmeDirectories: [String]

    init(_ settings: Settings) throws {
        let vantage = settings.text(.vantage)
        if let vantage {
            guard (1...64).contains(vantage.utf8.count), vantage.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw settings.failure(.vantage, "must be 1 to 64 printable characters without spaces")
            }
            guard vantage != ProbeScheduler.unnamed else {
                throw settings.failure(
                    .vantage, "must not be \(vantage), which stands for the nodes without a name")
            }
        }
        var addresses: [String: [IPAddress]] = [:]
        for text in settings.list(.resolve) {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, (try? HostPattern(parts[0])) != nil, let address = IPAddress(parts[1]) else {
                throw settings.failure(.resolve, "must be of the form name=address, and is \(text)")
            }
            addresses[parts[0], default: []].append(address)
        }
        let directories = settings.list(.acmeDirectory)
        for directory in directories {
            // A wrong one may hold a password, which no error may show.
            guard let url = try? OutgoingURL(directory), url.isSecure || LoopbackHost.contains(url.host) else {
                throw settings.failure(
                    .acmeDirectory, "must be an https address without user and password",
                    advice: "Give the address of the directory, such as https://acme-v02.api.letsencrypt.org/directory."
                )
            }
        }
        self.vantage = vantage
        self.interval = Int64(try settings.integer(.probeInterval))
        self.addresses = addresses
        self.ownHosts = Set(settings.list(.publicName))
        self.acmeDirectories = directories
    }

    /// The name under which this node's observations are recorded.
    var place: String { self.vantage ?? ProbeScheduler.unnamed }

    /// Finds the addresses of a name; blocks.
    var lookUp: NameResolver.LookUp {
        let fixed = self.addresses
        return { (name) throws(ResolutionFailure) in
            if let addresses = fixed[name] { return addresses }
            return try SystemLookUp.addresses(of: name)
        }
    }
}
