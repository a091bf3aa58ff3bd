import EventStore
import PinWire
import Pinning

/// The keys of an app, by which hexadecimal digits are found to be the pin of one of them, or another hash of it (guard rail
/// G40).
package struct KnownKeys: Sendable {
    private let app: App?

    /// - Parameter app: Nil where no key is known.
    init(of app: App? = nil) {
        self.app = app
    }

    /// True for the pin of a key or certificate that was given to the app, and for one that a host of the app has.
    func has(_ pin: Pin) -> Bool {
        guard let app = self.app else { return false }
        return app.keys[pin] != nil
            || app.hosts.contains { _, host in PolicySlot.allCases.contains { host[$0]?.pins[pin] != nil } }
    }

    /// The known key of which `digest` is another hash than the pin, with that hash; nil for none.
    func mistaken(_ digest: [UInt8]) -> (what: MistakenDigest, pin: Pin)? {
        guard let app = self.app else { return nil }
        for known in app.keys.values {
            let what = known.key.mistaken(digest) ?? known.certificates.lazy.compactMap { $0.mistaken(digest) }.first
            if let what { return (what, known.key.pin) }
        }
        return nil
    }
}

extension Services {
    /// The keys of an app; none where there is no such app.
    func knownKeys(of id: AppID) -> KnownKeys { KnownKeys(of: self.ledger.view.state.apps[id]) }
}
