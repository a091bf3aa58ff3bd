package import PinWire
package import Pinning

/// The pins for Dynapins clients of one domain: at least two distinct ones, the served key's first.
///
/// The format cannot say that pinning is off, nor that failures are only reported. Any answer but pins makes the
/// clients refuse the connection, so the policy's pins are served under a kill switch, in the modes `off` and
/// `report_only` and after `pins_valid_until` as well: with an error no client would connect, with pins those do that
/// the server's key lets in. To lift the pinning of a server that changed its key unannounced, the new key's pin has to
/// be published. A domain that is left to the app's built-in pins is unknown here.
package struct DynapinsPins: Hashable, Sendable {
    /// The domain in the spelling of the request.
    package let domain: String
    /// In the order in which they are served. SDK 0.0.1 compares only the first.
    package let pins: [Pin]

    /// - Parameter pins: In the order in which they are served; repeated ones count once.
    /// - Throws: ``DynapinsError/tooFewPins``. A set is never padded: a pin of no real key is no backup.
    package init(domain: String, pins: [Pin]) throws(DynapinsError) {
        var seen: Set<Pin> = []
        let distinct = pins.filter { seen.insert($0).inserted }
        guard distinct.count >= 2 else { throw .tooFewPins }
        self.domain = domain
        self.pins = distinct
    }

    /// The pins for a request. A literal `*.x` gets the pins of the names one label below `x` that have no pattern of
    /// their own.
    ///
    /// - Throws: ``DynapinsError/unknownDomain`` or ``DynapinsError/tooFewPins``.
    package init(_ request: DynapinsRequest, in view: ClientView) throws(DynapinsError) {
        guard let host = view.host(for: request.domain), host.mode != nil else { throw .unknownDomain }
        try self.init(domain: request.domain, pins: host.pins.map(\.pin))
    }
}
