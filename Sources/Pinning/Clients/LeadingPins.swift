import PinWire

extension ClientView.Host {
    /// The pins in an order that does not depend on what servers present: by role, then by bytes.
    package var orderedPins: [ClientView.ClientPin] {
        let order = PinRole.allCases
        func rank(_ pin: ClientView.ClientPin) -> Int { order.firstIndex(of: pin.role) ?? order.count }
        return self.pins.sorted { (rank($0), $0.pin) < (rank($1), $1.pin) }
    }

    /// The pins of which servers should use one: the primaries, or without any those of the next role. A client that
    /// can use none of them refuses the servers, whatever others it has.
    package var leadingPins: [ClientView.ClientPin] {
        let pins = self.orderedPins
        return pins.filter { $0.role == pins.first?.role }
    }
}
