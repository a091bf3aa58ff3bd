import PinWire

/// The versions of an app that should update, on one platform.
package struct ClientVersionRule: Hashable, Sendable {
    /// The permanent name of the rule; one of ``ids``.
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
