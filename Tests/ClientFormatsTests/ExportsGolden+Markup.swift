extension ExportsGolden {
    static let appleATS = #"""
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <!--
            Made by Pinledger for com.example.shop (The shop): Apple App Transport Security.
            Check it with: pinledger export apple_ats com.example.shop and the option check, with this file's name.
        -->
        <plist version="1.0">
        <dict>
            <key>NSAppTransportSecurity</key>
            <dict>
                <key>NSPinnedDomains</key>
                <dict>
                    <key>api.example.com</key>
                    <dict>
                        <key>NSIncludesSubdomains</key>
                        <false/>
                        <key>NSPinnedLeafIdentities</key>
                        <array>
                            <dict>
                                <key>SPKI-SHA256-BASE64</key>
                                <string>AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=</string>
                            </dict>
                            <dict>
                                <key>SPKI-SHA256-BASE64</key>
                                <string>AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=</string>
                            </dict>
                        </array>
                    </dict>
                    <key>example.org</key>
                    <dict>
                        <key>NSIncludesSubdomains</key>
                        <false/>
                        <key>NSPinnedLeafIdentities</key>
                        <array>
                            <dict>
                                <key>SPKI-SHA256-BASE64</key>
                                <string>AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=</string>
                            </dict>
                        </array>
                    </dict>
                    <key>shop.example</key>
                    <dict>
                        <key>NSIncludesSubdomains</key>
                        <true/>
                        <key>NSPinnedLeafIdentities</key>
                        <array>
                            <dict>
                                <key>SPKI-SHA256-BASE64</key>
                                <string>AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=</string>
                            </dict>
                            <dict>
                                <key>SPKI-SHA256-BASE64</key>
                                <string>BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=</string>
                            </dict>
                        </array>
                    </dict>
                </dict>
            </dict>
        </dict>
        </plist>

        """#

    static let trustkitIOS = #"""
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <!--
            Made by Pinledger for com.example.shop (The shop): TrustKit for iOS.
            Check it with: pinledger export trustkit_ios com.example.shop and the option check, with this file's name.
        -->
        <plist version="1.0">
        <dict>
            <key>TSKConfiguration</key>
            <dict>
                <key>TSKPinnedDomains</key>
                <dict>
                    <key>api.example.com</key>
                    <dict>
                        <key>TSKDisableDefaultReportUri</key>
                        <true/>
                        <key>TSKEnforcePinning</key>
                        <true/>
                        <key>TSKExpirationDate</key>
                        <string>2027-01-31</string>
                        <key>TSKIncludeSubdomains</key>
                        <false/>
                        <key>TSKPublicKeyHashes</key>
                        <array>
                            <string>AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=</string>
                            <string>AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=</string>
                        </array>
                    </dict>
                    <key>example.org</key>
                    <dict>
                        <key>TSKDisableDefaultReportUri</key>
                        <true/>
                        <key>TSKEnforcePinning</key>
                        <true/>
                        <key>TSKExpirationDate</key>
                        <string>2027-01-31</string>
                        <key>TSKIncludeSubdomains</key>
                        <true/>
                        <key>TSKPublicKeyHashes</key>
                        <array>
                            <string>AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=</string>
                            <string>AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=</string>
                        </array>
                    </dict>
                    <key>off.example.org</key>
                    <dict>
                        <key>kSKExcludeSubdomainFromParentPolicy</key>
                        <true/>
                    </dict>
                    <key>shop.example</key>
                    <dict>
                        <key>TSKDisableDefaultReportUri</key>
                        <true/>
                        <key>TSKEnforcePinning</key>
                        <true/>
                        <key>TSKExpirationDate</key>
                        <string>2027-01-31</string>
                        <key>TSKIncludeSubdomains</key>
                        <true/>
                        <key>TSKPublicKeyHashes</key>
                        <array>
                            <string>AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=</string>
                            <string>BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=</string>
                        </array>
                    </dict>
                    <key>test.example.org</key>
                    <dict>
                        <key>TSKDisableDefaultReportUri</key>
                        <true/>
                        <key>TSKEnforcePinning</key>
                        <false/>
                        <key>TSKExpirationDate</key>
                        <string>2027-01-31</string>
                        <key>TSKIncludeSubdomains</key>
                        <false/>
                        <key>TSKPublicKeyHashes</key>
                        <array>
                            <string>BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=</string>
                            <string>BgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgY=</string>
                        </array>
                    </dict>
                </dict>
                <key>TSKSwizzleNetworkDelegates</key>
                <false/>
            </dict>
        </dict>
        </plist>

        """#

    static let androidNSC = #"""
        <?xml version="1.0" encoding="utf-8"?>
        <!--
            Made by Pinledger for com.example.shop (The shop): Android network security configuration.
            Check it with: pinledger export android_nsc com.example.shop and the option check, with this file's name.
            It has pins alone: keep the base-config, the debug-overrides, the trust-anchors and the ban of cleartext
            of the file in whose place it is put.
        -->
        <network-security-config>
            <domain-config>
                <domain includeSubdomains="false">api.example.com</domain>
                <pin-set expiration="2027-01-31">
                    <pin digest="SHA-256">AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=</pin>
                    <pin digest="SHA-256">AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=</pin>
                </pin-set>
            </domain-config>
            <domain-config>
                <domain includeSubdomains="true">example.org</domain>
                <pin-set expiration="2027-01-31">
                    <pin digest="SHA-256">AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=</pin>
                    <pin digest="SHA-256">AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=</pin>
                </pin-set>
            </domain-config>
            <domain-config>
                <domain includeSubdomains="false">off.example.org</domain>
            </domain-config>
            <domain-config>
                <domain includeSubdomains="true">shop.example</domain>
                <pin-set expiration="2027-01-31">
                    <pin digest="SHA-256">AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=</pin>
                    <pin digest="SHA-256">BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=</pin>
                </pin-set>
            </domain-config>
            <domain-config>
                <domain includeSubdomains="false">test.example.org</domain>
            </domain-config>
        </network-security-config>

        """#

    static let trustkitAndroid = #"""
        <?xml version="1.0" encoding="utf-8"?>
        <!--
            Made by Pinledger for com.example.shop (The shop): TrustKit for Android.
            Check it with: pinledger export trustkit_android com.example.shop and the option check, with this file's name.
            It has pins alone: keep the base-config, the debug-overrides, the trust-anchors and the ban of cleartext
            of the file in whose place it is put.
        -->
        <network-security-config>
            <domain-config>
                <domain includeSubdomains="false">api.example.com</domain>
                <pin-set expiration="2027-01-31">
                    <pin digest="SHA-256">AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=</pin>
                    <pin digest="SHA-256">AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=</pin>
                </pin-set>
                <trustkit-config enforcePinning="true" disableDefaultReportUri="true"/>
            </domain-config>
            <domain-config>
                <domain includeSubdomains="true">example.org</domain>
                <pin-set expiration="2027-01-31">
                    <pin digest="SHA-256">AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=</pin>
                    <pin digest="SHA-256">AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=</pin>
                </pin-set>
                <trustkit-config enforcePinning="true" disableDefaultReportUri="true"/>
            </domain-config>
            <domain-config>
                <domain includeSubdomains="false">off.example.org</domain>
                <pin-set/>
                <trustkit-config enforcePinning="false" disableDefaultReportUri="true"/>
            </domain-config>
            <domain-config>
                <domain includeSubdomains="true">shop.example</domain>
                <pin-set expiration="2027-01-31">
                    <pin digest="SHA-256">AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=</pin>
                    <pin digest="SHA-256">BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=</pin>
                </pin-set>
                <trustkit-config enforcePinning="true" disableDefaultReportUri="true"/>
            </domain-config>
            <domain-config>
                <domain includeSubdomains="false">test.example.org</domain>
                <pin-set expiration="2027-01-31">
                    <pin digest="SHA-256">BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=</pin>
                    <pin digest="SHA-256">BgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgY=</pin>
                </pin-set>
                <trustkit-config enforcePinning="false" disableDefaultReportUri="true"/>
            </domain-config>
        </network-security-config>

        """#
}
