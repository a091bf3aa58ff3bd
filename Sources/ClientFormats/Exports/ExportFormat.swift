package import Pinning

/// A format of files with an app's pins built in: made once, committed to the app's repository, and compared.
///
/// The raw values are the names in commands and paths, and never change.
package enum ExportFormat: String, CaseIterable, Sendable, Hashable {
    /// `NSPinnedDomains` of an Info.plist (iOS 14, macOS 11).
    case appleATS = "apple_ats"
    /// A network security configuration (Android 7).
    case androidNSC = "android_nsc"
    /// `TSKConfiguration` of an Info.plist (TrustKit 3 for iOS).
    case trustkitIOS = "trustkit_ios"
    /// A network security configuration with `trustkit-config` (TrustKit for Android).
    case trustkitAndroid = "trustkit_android"
    /// A `CertificatePinner` in Kotlin, with patterns that OkHttp knows since 4.3.
    case okhttp
    /// A `CertificatePinner` in Kotlin, with patterns that OkHttp 3 knows.
    case okhttp3 = "okhttp_3"
    /// The argument of `initializeSslPinning` of react-native-ssl-public-key-pinning.
    case reactNative = "react_native"
    /// Fingerprints of whole certificates for Flutter's http_certificate_pinning 3.
    case flutter
    /// Command lines with curl's option `--pinnedpubkey`.
    case curl
    /// Response headers of RFC 7469, for reference: no browser uses them any more.
    case hpkp
    /// A constant in Swift, without dependencies.
    case swift
    /// A constant in Kotlin, without dependencies.
    case kotlin
    /// NetKit's `PinnedKey` values in Swift.
    case netkit
    /// Hosts with their modes and pins, for any program that reads JSON.
    case json
    /// The public keys and certificates themselves (RFC 7468), as far as they are known.
    case pem

    /// The client that reads the format; nil for formats of no particular client.
    package var client: ClientKind? { ClientKind(rawValue: self.rawValue) }

    /// Whether files may have keys or certificates themselves in them, and not only their digests.
    package var takesMaterial: Bool { self == .pem || self == .netkit }

    /// The name for people.
    package var title: String {
        switch self {
        case .hpkp: "HTTP Public Key Pinning"
        case .swift: "Swift source"
        case .kotlin: "Kotlin source"
        case .json: "plain JSON"
        case .pem: "PEM"
        default: self.client?.title ?? self.rawValue
        }
    }

    /// The default name of a file of the format.
    package var fileName: String {
        switch self {
        case .appleATS: "NSAppTransportSecurity.plist"
        case .androidNSC, .trustkitAndroid: "network_security_config.xml"
        case .trustkitIOS: "TSKConfiguration.plist"
        case .okhttp, .okhttp3: "PinledgerCertificatePinner.kt"
        case .reactNative: "ssl-pinning.json"
        case .flutter: "certificate-fingerprints.json"
        case .curl: "curl-pins.sh"
        case .hpkp: "public-key-pins.txt"
        case .swift: "PinledgerPins.swift"
        case .kotlin: "PinledgerPins.kt"
        case .netkit: "PinnedKeys.swift"
        case .json: "pins.json"
        case .pem: "pins.pem"
        }
    }

    /// For a response's `Content-Type`. All of them are UTF-8.
    package var mediaType: String {
        switch self {
        case .appleATS, .androidNSC, .trustkitIOS, .trustkitAndroid: "application/xml"
        case .reactNative, .flutter, .json: "application/json"
        case .pem: "application/x-pem-file"
        case .okhttp, .okhttp3, .curl, .hpkp, .swift, .kotlin, .netkit: "text/plain; charset=utf-8"
        }
    }
}
