import PinWire

/// The rails about single commands, judged before a command causes events: G04, G14, G41.
enum CommandRails {
    /// G14.
    static func name(of pattern: HostPattern, in context: DecisionContext) -> Finding? {
        guard context.isPublicSuffix(pattern.name) else { return nil }
        return Finding(
            .wildcard, host: pattern, "\(pattern.name) \(pattern.sharedNameReason).",
            remedy: "Pin a name that is yours.", refusal: .publicSuffix(pattern))
    }

    /// G04. A pin printed in documentation may belong to a real authority; the other placeholders belong to no key.
    ///
    /// - Parameter isPresented: Whether a service of the host presents a key with the pin, as far as probes show.
    static func placeholder(
        _ pin: Pin, _ pattern: HostPattern, _ slot: PolicySlot, isPresented: @autoclosure () -> Bool
    ) -> Finding? {
        guard let placeholder = pin.placeholder else { return nil }
        var finding = Finding(
            .placeholder, host: pattern, policy: slot, pin: pin, "\(pin) is no key's pin.",
            remedy: "Compute the pin of your own key.", refusal: .pinPlaceholder(pin, placeholder))
        guard case .documentation = placeholder else { return finding }
        guard !isPresented() else { return nil }
        finding.severity = .override
        finding.detail = "\(pin) is printed in documentation as an example."
        return finding
    }

    /// G41: a backup on the key that is in service.
    static func sameKey(_ pin: Pin) -> Finding {
        Finding(
            .backupIsPrimary, pin: pin,
            "\(pin) is the pin of the served key too: a backup on the same key is lost with it.",
            remedy:
                "Make another key pair, keep it apart from the served one, and give its certificate or signing request."
        )
    }
}

extension HostPattern {
    /// Why a name that counts as a public suffix is nobody's own, as the end of a sentence that begins with the name.
    package var sharedNameReason: String {
        switch self.name {
        case "localhost": "is each machine's own name, for which no public authority issues a certificate"
        case let name where !name.contains("."): "has one label: it is a public suffix, or a name within one network"
        default: "is a public suffix (publicsuffix.org): other owners register names below it"
        }
    }
}
