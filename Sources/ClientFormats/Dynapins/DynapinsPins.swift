package import PinWire
package import Pinning

/// The pins that Dynapins clients get for one domain: at least two distinct ones, the served key's first.
///
/// These clients cannot be told that pinning is off, nor that failures are to be reported only. Whatever is no answer
/// makes them refuse the connection, so the policy's pins are served under a kill switch, in the modes `off` and
/// `report_only` and after `pins_valid_until` as well: with an error nobody would connect, with pins all do whom the
/// server's key lets in. To lift the pinning of a server that changed its key unannounced, the new key's pin has to be
/// published. A domain that is left to the pins built into the app is unknown here.
package struct DynapinsPins: Hashable, Sendable {
    /// As it was asked for.
    package let domain: String
    /// In the order in which they are served. SDK 0.0.1 compares the first alone.
    package let pins: [Pin]

    /// - Parameter pins: In the order in which they are served; what comes twice counts once.
    /// - Throws: ``DynapinsError/tooFewPins``. A set is never padded: a pin of nobody's key is no backup.
    package init(domain: String, pins: [Pin]) throws(DynapinsError) {
        var seen: Set<Pin> = []
        let distinct = pins.filter { seen.insert($0).inserted }
        guard distinct.count >= 2 else { throw .tooFewPins }
        self.domain = domain
        self.pins = distinct
    }

    /// The pins for a request. A literal `*.x` gets what names one label below `x` get that have no pattern of their
    /// own.
    ///
    /// - Throws: ``DynapinsError/unknownDomain`` or ``DynapinsError/tooFewPins``.
    package init(_ request: DynapinsRequest, in view: ClientView) throws(DynapinsError) {
        guard let host = view.host(for: request.domain), host.mode != nil else { throw .unknownDomain }
        try self.init(domain: request.domain, pins: host.pins.map(\.pin))
    }
}
