package import PinWire
package import Pinning

/// A client's request for its pins: `GET /app/init` of Wultra's mobile utility server, without the challenge.
package struct WultraInitRequest: Hashable, Sendable {
    package let app: AppID
    /// The app's version; nil where it is not stated.
    package let appVersion: AppVersion?
    /// The version gate's input; nil unless the request has all of `appVersion`, `osVersion` and `platform`.
    package let device: WultraDevice?
    package let languages: WultraLanguages

    /// Reads the query's parameters. An empty one counts as missing. A wrong system version or platform is not refused
    /// where the gate is not asked: a client without pins is worse off than one without the gate's answer.
    ///
    /// - Parameters:
    ///   - acceptLanguage: The header `Accept-Language`.
    /// - Throws: ``WultraError``: `ERROR_REQUEST` without `appName` and for a malformed version or platform,
    ///   `APP_NOT_FOUND` for a name that no app can have.
    package init(
        appName: String?, appVersion: String? = nil, osVersion: String? = nil, platform: String? = nil,
        acceptLanguage: String? = nil
    ) throws(WultraError) {
        func given(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }
        guard let name = given(appName) else { throw .missing("appName") }
        guard let app = try? AppID(name) else { throw WultraError(.appNotFound, "There is no app of this name.") }
        self.app = app
        self.languages = WultraLanguages(acceptLanguage: acceptLanguage)
        self.appVersion = try given(appVersion).map { (text) throws(WultraError) in
            guard let version = AppVersion(wultra: text) else {
                throw .malformed(
                    "appInit.applicationVersion", text, "must be a version of three numbers, such as 3.1.2")
            }
            return version
        }
        guard let version = self.appVersion, let system = given(osVersion), let word = given(platform) else {
            self.device = nil
            return
        }
        guard let major = WultraDevice.majorVersion(system) else {
            throw .malformed("appInit.systemVersion", system, "must be a version, such as 17.4.1 or 17.4, or a number")
        }
        guard let known = WultraPlatform(rawValue: word.uppercased()) else {
            throw .malformed("appInit.platform", word, "must be IOS or ANDROID")
        }
        self.device = WultraDevice(appVersion: version, platform: known, majorOSVersion: major)
    }

    /// The native rules' input: the app's version.
    package var facts: Device { Device(appVersion: self.appVersion?.text) }
}

/// A client's statement for the version gate.
package struct WultraDevice: Hashable, Sendable {
    package var appVersion: AppVersion
    package var platform: WultraPlatform
    /// The first number of the operating system's version.
    package var majorOSVersion: Int64

    package init(appVersion: AppVersion, platform: WultraPlatform, majorOSVersion: Int64) {
        self.appVersion = appVersion
        self.platform = platform
        self.majorOSVersion = majorOSVersion
    }

    /// The number at the beginning of an operating system's version. Wultra's server takes `17` and `17.4.1` only, and
    /// refuses the `17.4` that iOS gives; here only the beginning counts. Nil without one of up to nine digits.
    static func majorVersion(_ text: String) -> Int64? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...9).contains(digits.count), text.utf8.count <= 64 else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
