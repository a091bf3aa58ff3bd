internal import PinWire

/// Reads pins as people paste them: one or several, in any of the forms of ``PinSpelling``, from a file, a command line
/// or a header.
enum PinText {
    /// The beginnings of OpenSSH public keys, with the name of their type or without.
    private static let sshBeginnings = [
        "ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-", "AAAAB3Nza", "AAAAC3Nza", "AAAAE2VjZHNh", "---- BEGIN SSH2",
    ]

    static func isSSHKey(_ text: ArraySlice<UInt8>) -> Bool {
        self.sshBeginnings.contains { text.starts(with: $0.utf8) }
    }

    /// The DER whose base64 is the whole of `text`, without PEM's boundaries; nil where it is something else.
    static func base64DER(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        // In base64, a SEQUENCE of more than a few bytes begins with M. A pin has 44 characters, and every key has
        // more.
        guard text.first == UInt8(ascii: "M"), text.count > 44 else { return nil }
        var decoder = LenientBase64(capacity: text.count)
        guard decoder.take(text) else {
            decoder.wipe()
            return nil
        }
        var bytes = decoder.finish()
        // A list of pins that begin with M is refused by the decoder for the padding in it, unless there is only one.
        guard bytes.count > 32, DERShape(bytes[...]) != .unknown else {
            OpenSSL.wipe(&bytes)
            return nil
        }
        return bytes
    }

    /// Gives `add` every pin and fingerprint of `text`.
    ///
    /// White space, `;` or `,` separate entries, with or without quotation marks. The other directives of a
    /// `Public-Key-Pins` header are skipped.
    static func read(
        _ text: ArraySlice<UInt8>, _ add: (Upload.Item) throws(UploadError) -> Void
    ) throws(UploadError) {
        let entries = text.split { ASCII.isSpace($0) || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") }
        let isHeader = entries.contains { Self.lower($0.prefix(12)).hasPrefix("pin-sha256=") }
        var number = 0
        var isEmpty = true
        // `openssl x509 -fingerprint` writes `sha256 Fingerprint=`, with the hash's name apart.
        var hash: String?
        for entry in entries {
            let stripped = self.unquoted(entry)
            guard !stripped.isEmpty else { continue }
            number += 1
            let place: UploadPlace = entries.count == 1 ? .whole : .entry(number)
            // An entry longer than any pin; only shorter ones are made into strings.
            guard stripped.count <= WrittenPin.longest else { throw .unknownText(place) }
            let text = String(decoding: stripped, as: UTF8.self)
            let lower = text.lowercased()
            if ["sha1", "sha256"].contains(lower), hash == nil {
                hash = lower
                number -= 1
                continue
            }
            if isHeader, Self.isDirective(lower) { continue }
            if lower.hasPrefix("fingerprint="), let name = hash {
                try add(.fingerprint(self.fingerprint(lower.dropFirst(12), name, place)))
            } else {
                try add(self.item(text, place))
            }
            hash = nil
            isEmpty = false
        }
        if isEmpty || hash != nil { throw .unknownText(.whole) }
    }

    /// One entry, which is a pin or a fingerprint in one of the forms that say which.
    private static func item(_ text: String, _ place: UploadPlace) throws(UploadError) -> Upload.Item {
        do throws(WrittenPin.Malformed) {
            let written = try WrittenPin(text)
            return .pin(written.pin, spelling: written.spelling)
        } catch {
            switch error {
            case .fingerprint(let bytes): return .fingerprint(bytes)
            case .otherHash(let name): throw .otherHash(place, name: name)
            case .hexDigits(let byteCount): throw .malformedHex(place, byteCount: byteCount)
            case .digest(let reason):
                // With a pin's beginning or about 44 characters it is meant as a pin, and its defect can be named.
                let isMeant = ["sha256/", "pin-sha256="].contains { text.lowercased().hasPrefix($0) }
                guard isMeant || (40...48).contains(text.utf8.count) else { throw .unknownText(place) }
                throw .malformedPin(place, reason)
            }
        }
    }

    private static func fingerprint(
        _ text: Substring, _ hash: String, _ place: UploadPlace
    ) throws(UploadError) -> [UInt8] {
        guard let (bytes, _) = WrittenPin.hex(String(text)) else { throw .unknownText(place) }
        guard bytes.count == (hash == "sha1" ? 20 : 32) else { throw .malformedHex(place, byteCount: bytes.count) }
        return bytes
    }

    /// Whether an entry is another directive of an RFC 7469 header.
    private static func isDirective(_ lower: String) -> Bool {
        ["public-key-pins:", "public-key-pins-report-only:", "includesubdomains", "strict"].contains(lower)
            || ["max-age=", "report-uri="].contains { lower.hasPrefix($0) }
    }

    /// `text` without quotation marks around it, be they one or two of each kind.
    private static func unquoted(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isQuote = { (byte: UInt8) in byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }
        var text = text.drop(while: isQuote)
        while let last = text.last, isQuote(last) { text.removeLast() }
        return text
    }

    private static func lower(_ text: ArraySlice<UInt8>) -> String {
        String(decoding: text, as: UTF8.self).lowercased()
    }
}
