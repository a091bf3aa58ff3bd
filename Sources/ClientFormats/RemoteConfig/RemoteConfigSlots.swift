package import PinWire
package import Pinning

/// A published pin, as far as these clients' formats need it.
package struct RemoteConfigPin: Hashable, Sendable {
    package var pin: Pin
    package var role: PinRole
    /// Whether a probe saw it in use as the server's own key when it last looked.
    package var isServed: Bool
    /// SHA-256 of the raw key, 32 bytes; nil where the key is unknown.
    package var rawKeySHA256: [UInt8]?

    package init(_ pin: Pin, _ role: PinRole, isServed: Bool = false, rawKeySHA256: [UInt8]? = nil) {
        self.pin = pin
        self.role = role
        self.isServed = isServed
        self.rawKeySHA256 = rawKeySHA256
    }
}

extension RemoteConfigHash {
    /// The text of a pin, `sha256/` and base64; nil where the key is not known well enough.
    func text(of pin: RemoteConfigPin) -> String? {
        switch self {
        case .spki: pin.pin.description
        case .rawKey: pin.rawKeySHA256.map { "sha256/\(Base64.encode($0))" }
        }
    }
}

/// The three places of these clients for a host's pins: `primary`, `backup` and, where there is a third, `emergency`. A
/// connection may match any of them.
///
/// Strict clients cannot read a configuration in which any host lacks `primary` or `backup`; they then have no pins at
/// all. A host's only pin stands in both places: the document has only that one, and it is enforced.
package struct RemoteConfigSlots: Hashable, Sendable {
    package let primary: RemoteConfigPin
    package let backup: RemoteConfigPin
    package let emergency: RemoteConfigPin?

    /// Chooses among a policy's pins; nil where it has none.
    ///
    /// - Parameter pins: Those in use as the server's key first, then primary before backup before emergency. The first
    ///   three of more are taken, because leaving out a served key locks clients out at once. If none of them is in
    ///   reserve, the last gives way to the first that is, unless it is served.
    package init?(_ pins: [RemoteConfigPin]) {
        guard !pins.isEmpty else { return nil }
        var chosen = Array(pins.prefix(3))
        if pins.count > 3, !chosen.contains(where: \.role.isReserve), chosen.last?.isServed == false,
            let reserve = pins.first(where: \.role.isReserve)
        {
            chosen[2] = reserve
        }
        func take(_ role: PinRole) -> RemoteConfigPin? {
            guard !chosen.isEmpty else { return nil }
            return chosen.remove(at: chosen.firstIndex { $0.role == role } ?? 0)
        }
        self.primary = take(.primary) ?? pins[0]
        self.backup = take(.backup) ?? self.primary
        self.emergency = take(.emergency)
    }

    /// The pins in the clients' form; nil where one of them is not known in that form.
    package func json(_ hash: RemoteConfigHash) -> OrderedJSON? {
        guard let primary = hash.text(of: self.primary), let backup = hash.text(of: self.backup) else { return nil }
        var members = [
            OrderedJSON.Member("primary", .string(primary)), OrderedJSON.Member("backup", .string(backup)),
        ]
        if let emergency = self.emergency {
            guard let text = hash.text(of: emergency) else { return nil }
            members.append(OrderedJSON.Member("emergency", .string(text)))
        }
        return .object(members)
    }
}
