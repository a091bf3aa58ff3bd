/// The systems that Wultra's SDKs are for.
package enum WultraPlatform: String, CaseIterable, Sendable, Hashable {
    case ios = "IOS"
    case android = "ANDROID"

    /// Reads the name in capital letters.
    package init(_ text: String) throws(ClientSettings.Malformed) {
        guard let platform = Self(rawValue: text) else {
            throw ClientSettings.Malformed(description: "must be `IOS` or `ANDROID`")
        }
        self = platform
    }
}
