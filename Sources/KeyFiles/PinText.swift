internal import PinWire

/// Reads pins as people paste them: one or several, in any of the forms of ``PinSpelling``, from a file, a command line, a
/// request or a header.
enum PinText {
    /// Why a text holds something other than pins and fingerprints.
    struct Defect: Error, CustomStringConvertible {
        let place: UploadPlace
        /// Nil for an entry that is of no known kind.
        let reason: WrittenPin.Malformed?

        var description: String { UploadError(self).description }
    }

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

    /// The pins and fingerprints of `text`; reading ends after one more than `limit`.
    ///
    /// White space, `;` or `,` separate entries, with or without quotation marks. The other directives of a
    /// `Public-Key-Pins` header are skipped, and so is a byte order mark.
    static func read(_ text: ArraySlice<UInt8>, atMost limit: Int) throws(Defect) -> [Upload.Item] {
        var entries = PinTextEntries(text)
        var items: [Upload.Item] = []
        while items.count <= limit, let item = try entries.next() { items.append(item) }
        return items
    }
}
