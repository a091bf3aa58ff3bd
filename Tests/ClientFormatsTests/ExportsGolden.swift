import ClientFormats

/// What the exports of ``ExportsSample/hosts`` are, valid until ``ExportsSample/until``. The property lists, XML and
/// JSON among them have been read by Python's plistlib, xml and json.
enum ExportsGolden {
    static let texts: [ExportFormat: String] = [
        .appleATS: Self.appleATS,
        .androidNSC: Self.androidNSC,
        .trustkitIOS: Self.trustkitIOS,
        .trustkitAndroid: Self.trustkitAndroid,
        .okhttp: Self.okhttp,
        .okhttp3: Self.okhttp3,
        .reactNative: Self.reactNative,
        .flutter: Self.flutter,
        .curl: Self.curl,
        .hpkp: Self.hpkp,
        .swift: Self.swift,
        .kotlin: Self.kotlin,
        .netkit: Self.netkit,
        .json: Self.json,
    ]

    private static let validity = "The pins are valid until 2027-01-31T12:00:00Z, and"
    private static let noValidity = "has no place for that: they hold until the app is updated."
    private static let localDate = "takes a date: they end when that day begins where the device is."
    private static let date = "takes a date: they end when that day begins in UTC."
    private static let off = "off.example.org: left out. Its mode is off."
    private static let builtin =
        "old.example.net: left out. Its pins are those built into the app, which the server does not have."
    private static let below = "names one label below cdn.example.com: left out."
    private static let oneOrAll = "An entry stands for one name, or for that and all names below it."
    private static let ownAlone = [
        "\(below) An entry stands for one name.",
        "names below example.org: left out. An entry stands for one name.",
        "names below shop.example: left out. An entry stands for one name.",
    ]

    private static func reportOnly(_ title: String) -> String {
        "test.example.org: left out. Its mode is report_only, and what reads \(title) can only enforce."
    }

    private static func cannotExcept(_ title: String, _ name: String = "test.example.org") -> String {
        "names below example.org: left out. \(title) cannot except \(name) from its entry."
    }

    private static func exception(_ host: String) -> String {
        "\(host) stands in the file without pins, so that no wider pattern's hold for it."
    }

    static let notes: [ExportFormat: [String]] = [
        .appleATS: [
            off,
            builtin,
            reportOnly("Apple App Transport Security"),
            "\(validity) Apple App Transport Security \(noValidity)",
            "\(below) An entry stands for one name, or for that and the names one label below it.",
            cannotExcept("Apple App Transport Security"),
            "names two or more labels below shop.example: left out. An entry stands for one name, or "
                + "for that and the names one label below it.",
            "example.org: sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM= left out. With keys of "
                + "authorities beside those of servers, App Transport Security asks for one of each, so that "
                + "those stay that are of the primary pin's kind.",
            "shop.example: nobody showed a certificate of sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=, "
                + "and the key is taken for the server's own. If it is an authority's, App Transport "
                + "Security refuses the server.",
        ],
        .androidNSC: [
            off,
            builtin,
            reportOnly("Android network security configuration"),
            "\(validity) Android network security configuration \(localDate)",
            "\(below) \(oneOrAll)",
        ],
        .trustkitIOS: [
            off,
            builtin,
            "\(validity) TrustKit for iOS \(date)",
            "\(below) \(oneOrAll)",
        ],
        .trustkitAndroid: [
            off,
            builtin,
            "\(validity) TrustKit for Android \(localDate)",
            "\(below) \(oneOrAll)",
            "test.example.org: report_only holds for connections that TrustKit checks. Since version "
                + "7, Android itself enforces the pins on all others.",
        ],
        .okhttp: [
            off,
            builtin,
            reportOnly("OkHttp 4.3 and later"),
            "\(validity) OkHttp 4.3 and later \(noValidity)",
            cannotExcept("OkHttp 4.3 and later"),
        ],
        .okhttp3: [
            off,
            builtin,
            reportOnly("OkHttp 3"),
            "\(validity) OkHttp 3 \(noValidity)",
            cannotExcept("OkHttp 3"),
            "names two or more labels below shop.example: left out. A pattern stands for one name, or "
                + "for the names one label below it (*.); OkHttp 3 takes **. and never matches it.",
        ],
        .reactNative: [
            off,
            builtin,
            reportOnly("react-native-ssl-public-key-pinning"),
            "\(validity) react-native-ssl-public-key-pinning \(date)",
            "\(below) \(oneOrAll)",
            cannotExcept("react-native-ssl-public-key-pinning"),
        ],
        .flutter: [
            off, builtin, reportOnly("Flutter http_certificate_pinning"),
            "\(validity) Flutter http_certificate_pinning \(noValidity)",
        ] + ownAlone + [
            "api.example.com: sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI= left out. Nobody "
                + "showed a certificate of its key, and whole certificates are compared.",
            "example.org: sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM= left out. It is an "
                + "authority's, and Flutter http_certificate_pinning compares the server's certificate.",
            "shop.example: sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI= left out. Nobody showed "
                + "a certificate of its key, and whole certificates are compared.",
            "shop.example: left out. Its servers have yet to get the keys that stay, and with these alone "
                + "they would be refused.",
        ],
        .curl: [off, builtin, reportOnly("curl"), "\(validity) curl \(noValidity)"] + ownAlone + [
            "example.org: sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM= left out. It is an "
                + "authority's, and curl compares the server's own key."
        ],
        .hpkp: [
            off,
            builtin,
            "\(validity) HTTP Public Key Pinning has no place for that: they hold for 60 days after each response.",
            "\(below) \(oneOrAll)",
            cannotExcept("HTTP Public Key Pinning", "off.example.org"),
        ],
        .swift: [
            off,
            builtin,
            reportOnly("Swift source"),
            exception("off.example.org"),
            exception("test.example.org"),
        ],
        .kotlin: [
            off,
            builtin,
            reportOnly("Kotlin source"),
            exception("off.example.org"),
            exception("test.example.org"),
        ],
        .netkit: [off, builtin, reportOnly("NetKit"), "\(validity) NetKit \(noValidity)"] + ownAlone,
        .json: [
            off,
            builtin,
            exception("off.example.org"),
        ],
    ]
}
