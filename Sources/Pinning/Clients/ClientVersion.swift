/// A version of an app in the form of Wultra's server: three numbers of up to nine digits with dots between, and
/// perhaps a hyphen and printable ASCII after it; at most 128 characters. Kept as it was written.
package struct ClientVersion: Hashable, Sendable {
    package let text: String

    package init(_ text: String) throws(ClientSettings.Malformed) {
        let numbers = text.prefix { $0 != "-" }.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 128, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), numbers.count == 3,
            numbers.allSatisfy({ (1...9).contains($0.utf8.count) && $0.utf8.allSatisfy { (48...57).contains($0) } })
        else { throw ClientSettings.Malformed(description: "must be a version such as `3.1.2`") }
        self.text = text
    }
}
