import Pinning

/// A format of files with an app's pins built in: made once, committed to the app's repository, and compared.
///
/// The raw values are the names in commands and paths, and never change; a format that a kind of client reads has its name.
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

    /// How its files are made.
    var form: ExportForm {
        switch self {
        case .appleATS: ExportForm(.appleATS) { $0.appTransportSecurity($1.entries) }
        case .androidNSC: ExportForm(.androidNSC) { $0.networkSecurityConfiguration($1.entries, isTrustKit: false) }
        case .trustkitIOS:
            ExportForm(.trustkitIOS) { (draft, content) throws(ExportRefusal) in try draft.trustKit(content.entries) }
        case .trustkitAndroid:
            ExportForm(.trustkitAndroid) { $0.networkSecurityConfiguration($1.entries, isTrustKit: true) }
        case .okhttp: ExportForm(.okhttp) { $0.certificatePinner($1.entries) }
        case .okhttp3: ExportForm(.okhttp3) { $0.certificatePinner($1.entries) }
        case .reactNative:
            ExportForm(.reactNative) { (draft, content) throws(ExportRefusal) in
                try draft.reactNative(content.entries)
            }
        case .flutter: ExportForm(.flutter) { $0.flutter($1.entries) }
        case .curl: ExportForm(.curl) { $0.curl($1.entries) }
        case .netkit: ExportForm(.netkit, takesMaterial: true) { $0.netKit($1.entries, $1.material) }
        case .hpkp:
            ExportForm(
                title: "HTTP Public Key Pinning", file: ClientFile("public-key-pins.txt"), names: .subtrees(),
                canReportOnly: true, lifetime: "for 60 days after each response"
            ) { $0.publicKeyPins($1.entries) }
        case .swift:
            ExportForm(title: "Swift source", file: ClientFile("PinledgerPins.swift"), validity: .instant) {
                $0.swift($1.hosts)
            }
        case .kotlin:
            ExportForm(title: "Kotlin source", file: ClientFile("PinledgerPins.kt"), validity: .instant) {
                $0.kotlin($1.hosts)
            }
        case .json:
            ExportForm(
                title: "plain JSON", file: ClientFile("pins.json", "application/json"), canReportOnly: true,
                validity: .instant
            ) { $0.json($1.hosts) }
        case .pem:
            ExportForm(title: "PEM", file: ClientFile("pins.pem", "application/x-pem-file"), takesMaterial: true) {
                (draft, content) throws(ExportRefusal) in try draft.pem(content.hosts.kept, content.material)
            }
        }
    }

    /// As people know it.
    package var title: String { self.form.title }

    /// What a file of the format is called where nobody wants another name.
    package var fileName: String { self.form.file.name }

    /// For a response's `Content-Type`. All of them are UTF-8.
    package var mediaType: String { self.form.file.mediaType }

    /// Whether files may have keys or certificates themselves in them, and not their digests alone.
    package var takesMaterial: Bool { self.form.takesMaterial }
}
