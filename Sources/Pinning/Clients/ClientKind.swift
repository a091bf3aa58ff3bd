/// A kind of client software that an app's installs use, besides this project's own.
///
/// What each can do stands in its profile (``ClientProfile``), in a file of its own.
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

    /// What the kind can do with an app's settings for it.
    package func profile(_ settings: ClientSettings = ClientSettings()) -> ClientProfile {
        switch self {
        case .dynapins: .dynapins(settings)
        case .wultra: .wultra(settings)
        case .remoteConfig: .remoteConfig(settings)
        case .muejam: .muejam
        case .netkit: .netkit
        case .sslPinning: .sslPinning
        case .trustkitIOS: .trustkitIOS
        case .trustkitAndroid: .trustkitAndroid
        case .appleATS: .appleATS
        case .androidNSC: .androidNSC
        case .okhttp: .okhttp
        case .okhttp3: .okhttp3
        case .reactNative: .reactNative
        case .flutter: .flutter
        case .curl: .curl
        }
    }

    /// As people know it.
    package var title: String { self.profile().title }

    /// Whether installs fetch their pins from this server while they run; the others have them built into the app.
    package var isServed: Bool { self.profile().isServed }
}
