import PinWire

/// Which versions of an app are asked to update, on one platform.
package struct ClientVersionRule: Hashable, Sendable {
    /// Names the rule for ever; one of ``ids``.
    package var id: Int64
    package var platform: WultraPlatform
    /// The rule holds for this major version of the operating system, one of ``majorOSVersions``; nil for those without
    /// a rule of their own.
    package var majorOSVersion: Int64?
    /// Older versions are suggested to update, or have to.
    package var suggestedVersion: ClientVersion?
    package var requiredVersion: ClientVersion?
    package var messageKey: TextKey?

    package static let ids: ClosedRange<Int64> = 1...JSON.largestInteger
    package static let majorOSVersions: ClosedRange<Int64> = 0...999_999_999

    package init(
        id: Int64, platform: WultraPlatform, majorOSVersion: Int64? = nil, suggestedVersion: ClientVersion? = nil,
        requiredVersion: ClientVersion? = nil, messageKey: TextKey? = nil
    ) {
        self.id = id
        self.platform = platform
        self.majorOSVersion = majorOSVersion
        self.suggestedVersion = suggestedVersion
        self.requiredVersion = requiredVersion
        self.messageKey = messageKey
    }
}

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

/// A version of an app as Wultra's server asks for it: three numbers of up to nine digits with dots between, and perhaps a
/// hyphen and printable ASCII after it; at most 128 characters. Kept as it was written.
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
