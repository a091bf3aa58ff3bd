/// A kind of client software that an app's installs use, besides this project's own.
///
/// Each has a format of its own, in which it is served (``isServed``) or for which files are exported, and limits that its
/// users should know (``ClientLimit``).
package enum ClientKind: String, CaseIterable, Sendable, Hashable, Comparable {
    /// Dynapins SDKs: a signed answer for one domain.
    case dynapins
    /// Wultra's SSL pinning SDKs, against a mobile utility server or a static file.
    case wultra
    /// Remote configuration delivered by Firebase, under a key such as `ssl_pinning_config`.
    case remoteConfig = "remote_config"
    case muejam
    case netkit
    /// Clients of the Go server `ssl-pinning`: a signed file.
    case sslPinning = "ssl_pinning"
    case trustkitIOS = "trustkit_ios"
    case trustkitAndroid = "trustkit_android"
    case appleATS = "apple_ats"
    case androidNSC = "android_nsc"
    case okhttp
    /// OkHttp 3, as in React Native up to 0.64.
    case okhttp3 = "okhttp_3"
    case reactNative = "react_native"
    case flutter
    case curl

    package static func < (left: ClientKind, right: ClientKind) -> Bool { left.rawValue < right.rawValue }

    /// The name for people.
    package var title: String {
        switch self {
        case .dynapins: "Dynapins"
        case .wultra: "Wultra SSL pinning"
        case .remoteConfig: "Firebase Remote Config"
        case .muejam: "MueJam"
        case .netkit: "NetKit"
        case .sslPinning: "ssl-pinning"
        case .trustkitIOS: "TrustKit for iOS"
        case .trustkitAndroid: "TrustKit for Android"
        case .appleATS: "Apple App Transport Security"
        case .androidNSC: "Android network security configuration"
        case .okhttp: "OkHttp 4.3 and later"
        case .okhttp3: "OkHttp 3"
        case .reactNative: "react-native-ssl-public-key-pinning"
        case .flutter: "Flutter http_certificate_pinning"
        case .curl: "curl"
        }
    }

    /// Whether installs fetch their pins from this server at run time; the others have them built into the app.
    package var isServed: Bool {
        switch self {
        case .dynapins, .wultra, .remoteConfig, .muejam, .netkit, .sslPinning: true
        case .trustkitIOS, .trustkitAndroid, .appleATS, .androidNSC, .okhttp, .okhttp3, .reactNative, .flutter, .curl:
            false
        }
    }
}
