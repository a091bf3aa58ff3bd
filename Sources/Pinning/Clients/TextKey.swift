/// The key of a message: 1 to 255 characters of printable ASCII, with no space at either end.
///
/// ASCII alone, because the sets of printable and of equal characters change with the versions of Unicode, and an entry
/// of the ledger must stay readable.
package struct TextKey: Hashable, Sendable {
    package let text: String

    package init(_ text: String) throws(ClientSettings.Malformed) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
            text.utf8.first != 0x20, text.utf8.last != 0x20
        else {
            throw ClientSettings.Malformed(
                description: "must be 1 to 255 printable ASCII characters, without spaces at the ends")
        }
        self.text = text
    }
}
