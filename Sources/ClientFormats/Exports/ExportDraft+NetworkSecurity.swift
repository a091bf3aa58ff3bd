import PinWire
import Pinning

extension ExportDraft {
    /// A network security configuration as Android 7 and later reads it (`XmlConfigSource`), and with `trustkit-config`
    /// also as TrustKit for Android does.
    ///
    /// Each `domain-config` has one domain, because TrustKit keeps only the last of several. Android uses the longest
    /// domain that covers a name, so that one without pins excepts names from a shorter one's.
    mutating func networkSecurityConfiguration(_ entries: [ExportPlan.Entry], isTrustKit: Bool) {
        var out = SourceText()
        out.add(#"<?xml version="1.0" encoding="utf-8"?>"#)
        // A file that is put in the place of another one must not drop what is no pin.
        out.add(
            self.xmlHeader([
                "It has pins alone: keep the base-config, the debug-overrides, the trust-anchors and the ban of cleartext",
                "of the file in whose place it is put.",
            ]))
        if entries.isEmpty {
            out.add("<network-security-config/>")
        } else {
            out.add("<network-security-config>")
            for entry in entries { self.add(entry, isTrustKit: isTrustKit, to: &out) }
            out.add("</network-security-config>")
        }
        self.bytes = out.bytes
        for entry in entries where entry.host?.mode == .reportOnly {
            self.notes.append(
                "\(entry.name): report_only holds for connections that TrustKit checks. Since version 7, Android "
                    + "itself enforces the pins on all others.")
        }
    }

    private func add(_ entry: ExportPlan.Entry, isTrustKit: Bool, to out: inout SourceText) {
        out.add("<domain-config>", depth: 1)
        out.add(
            "<domain includeSubdomains=\"\(entry.reach != .own)\">\(Quoting.xml(entry.name))</domain>", depth: 2)
        if let host = entry.host {
            let expiration = self.validUntilDate.map { " expiration=\"\(Quoting.xml($0))\"" } ?? ""
            out.add("<pin-set\(expiration)>", depth: 2)
            for pin in host.orderedPins {
                out.add("<pin digest=\"SHA-256\">\(Quoting.xml(pin.pin.base64))</pin>", depth: 3)
            }
            out.add("</pin-set>", depth: 2)
        } else if isTrustKit {
            // TrustKit ignores a domain without a pin-set, and would use the shorter one's pins.
            out.add("<pin-set/>", depth: 2)
        }
        if isTrustKit {
            let enforces = entry.host?.mode == .enforce
            out.add(
                "<trustkit-config enforcePinning=\"\(enforces)\" disableDefaultReportUri=\"true\"/>", depth: 2)
        }
        out.add("</domain-config>", depth: 1)
    }
}
