/// What every export of ``ExportsSample/hosts`` is.
extension ExportsGolden {
    static let okhttp = #"""
        // Made by Pinledger for com.example.shop (The shop): OkHttp 4.3 and later.
        // Check it with: pinledger export okhttp com.example.shop --check FILE
        package pinledger

        import okhttp3.CertificatePinner

        /** Refuses connections of which no certificate has one of these keys. */
        val certificatePinner: CertificatePinner = CertificatePinner.Builder()
            .add(
                "api.example.com",
                "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // primary
                "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="  // backup
            )
            .add(
                "*.cdn.example.com",
                "sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",  // primary
                "sha256/BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="  // backup
            )
            .add(
                "example.org",
                "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // primary
                "sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="  // backup
            )
            .add(
                "shop.example",
                "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",  // primary
                "sha256/BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="  // backup
            )
            .add(
                "**.shop.example",
                "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",  // primary
                "sha256/BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="  // backup
            )
            .build()

        """#

    static let okhttp3 = #"""
        // Made by Pinledger for com.example.shop (The shop): OkHttp 3.
        // Check it with: pinledger export okhttp_3 com.example.shop --check FILE
        package pinledger

        import okhttp3.CertificatePinner

        /** Refuses connections of which no certificate has one of these keys. */
        val certificatePinner: CertificatePinner = CertificatePinner.Builder()
            .add(
                "api.example.com",
                "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // primary
                "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="  // backup
            )
            .add(
                "*.cdn.example.com",
                "sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",  // primary
                "sha256/BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="  // backup
            )
            .add(
                "example.org",
                "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // primary
                "sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="  // backup
            )
            .add(
                "shop.example",
                "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",  // primary
                "sha256/BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="  // backup
            )
            .add(
                "*.shop.example",
                "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",  // primary
                "sha256/BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="  // backup
            )
            .build()

        """#

    static let swift = #"""
        // Made by Pinledger for com.example.shop (The shop): Swift source.
        // Check it with: pinledger export swift com.example.shop --check FILE

        /// The pins that hold until the app has fetched others.
        enum PinledgerPins {
            /// A host name, or `*.` and one for exactly one more label, and the keys that its chain may have.
            struct Host {
                let pattern: String
                /// Whether all names below are meant too.
                let includesSubdomains: Bool
                /// SHA-256 of the SubjectPublicKeyInfo in base64. Where there are none, pins are not looked at,
                /// whatever a wider pattern says.
                let pins: [String]
            }

            /// In seconds since 1970, the time after which pins are not looked at; nil for never.
            static let validUntil: Int64? = 1801396800  // 2027-01-31T12:00:00Z

            static let hosts: [Host] = [
                Host(pattern: "*.cdn.example.com", includesSubdomains: false, pins: [
                    "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",  // primary
                    "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=",  // backup
                ]),
                Host(pattern: "api.example.com", includesSubdomains: false, pins: [
                    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // primary
                    "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",  // backup
                ]),
                Host(pattern: "example.org", includesSubdomains: true, pins: [
                    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // primary
                    "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",  // backup
                ]),
                Host(pattern: "off.example.org", includesSubdomains: false, pins: []),
                Host(pattern: "shop.example", includesSubdomains: true, pins: [
                    "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",  // primary
                    "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=",  // backup
                ]),
                Host(pattern: "test.example.org", includesSubdomains: false, pins: []),
            ]
        }

        """#

    static let kotlin = #"""
        // Made by Pinledger for com.example.shop (The shop): Kotlin source.
        // Check it with: pinledger export kotlin com.example.shop --check FILE
        package pinledger

        /** The pins that hold until the app has fetched others. */
        object PinledgerPins {
            /**
             * A host name, or `*.` and one for exactly one more label, and the keys that its chain may have:
             * SHA-256 of the SubjectPublicKeyInfo in base64. Where there are none, pins are not looked at,
             * whatever a wider pattern says.
             */
            class Host(val pattern: String, val includesSubdomains: Boolean, val pins: List<String>)

            /** In seconds since 1970, the time after which pins are not looked at; null for never. */
            val validUntil: Long? = 1801396800L  // 2027-01-31T12:00:00Z

            val hosts: List<Host> = listOf(
                Host("*.cdn.example.com", false, listOf(
                    "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",  // primary
                    "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="  // backup
                )),
                Host("api.example.com", false, listOf(
                    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // primary
                    "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="  // backup
                )),
                Host("example.org", true, listOf(
                    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // primary
                    "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="  // backup
                )),
                Host("off.example.org", false, listOf()),
                Host("shop.example", true, listOf(
                    "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",  // primary
                    "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="  // backup
                )),
                Host("test.example.org", false, listOf())
            )
        }

        """#

    static let netkit = #"""
        // Made by Pinledger for com.example.shop (The shop): NetKit.
        // Check it with: pinledger export netkit com.example.shop --check FILE
        import NetKit

        /// The keys of which each host's chain must have one.
        let pinnedKeys: [String: [PinnedKey]] = [
            "api.example.com": [
                PinnedKey.spkiSHA256("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="),  // primary
                PinnedKey.spkiSHA256("AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="),  // backup
            ],
            "example.org": [
                PinnedKey.spkiSHA256("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="),  // primary
                PinnedKey.spkiSHA256("AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="),  // backup
            ],
            "shop.example": [
                PinnedKey.spkiSHA256("AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="),  // primary
                PinnedKey.spkiSHA256("BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="),  // backup
            ],
        ]

        """#
}
