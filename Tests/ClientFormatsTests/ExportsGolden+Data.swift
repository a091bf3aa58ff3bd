/// What every export of ``ExportsSample/hosts`` is.
extension ExportsGolden {
    static let json = #"""
        {
          "app": "com.example.shop",
          "check": "pinledger export json com.example.shop --check FILE",
          "display_name": "The shop",
          "hosts": [
            {
              "host": "*.cdn.example.com",
              "include_subdomains": false,
              "mode": "enforce",
              "pins": [
                {
                  "pin": "sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",
                  "role": "primary"
                },
                {
                  "pin": "sha256/BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=",
                  "role": "backup"
                }
              ]
            },
            {
              "host": "api.example.com",
              "include_subdomains": false,
              "mode": "enforce",
              "pins": [
                {
                  "pin": "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
                  "role": "primary"
                },
                {
                  "pin": "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",
                  "role": "backup"
                }
              ]
            },
            {
              "host": "example.org",
              "include_subdomains": true,
              "mode": "enforce",
              "pins": [
                {
                  "pin": "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
                  "role": "primary"
                },
                {
                  "pin": "sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",
                  "role": "backup"
                }
              ]
            },
            {
              "host": "off.example.org",
              "include_subdomains": false,
              "mode": "off",
              "pins": []
            },
            {
              "host": "shop.example",
              "include_subdomains": true,
              "mode": "enforce",
              "pins": [
                {
                  "pin": "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",
                  "role": "primary"
                },
                {
                  "pin": "sha256/BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=",
                  "role": "backup"
                }
              ]
            },
            {
              "host": "test.example.org",
              "include_subdomains": false,
              "mode": "report_only",
              "pins": [
                {
                  "pin": "sha256/BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=",
                  "role": "primary"
                },
                {
                  "pin": "sha256/BgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgY=",
                  "role": "backup"
                }
              ]
            }
          ],
          "made_by": "Pinledger",
          "pins_valid_until": "2027-01-31T12:00:00Z"
        }

        """#

    static let reactNative = #"""
        {
          "api.example.com": {
            "expirationDate": "2027-01-31",
            "includeSubdomains": false,
            "publicKeyHashes": [
              "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
              "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
            ]
          },
          "example.org": {
            "expirationDate": "2027-01-31",
            "includeSubdomains": false,
            "publicKeyHashes": [
              "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
              "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="
            ]
          },
          "shop.example": {
            "expirationDate": "2027-01-31",
            "includeSubdomains": true,
            "publicKeyHashes": [
              "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",
              "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="
            ]
          }
        }

        """#

    static let flutter = #"""
        {
          "api.example.com": [
            "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"
          ],
          "example.org": [
            "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"
          ]
        }

        """#

    static let curl = #"""
        # Made by Pinledger for com.example.shop (The shop): curl.
        # Check it with: pinledger export curl com.example.shop --check FILE

        # api.example.com
        curl --pinnedpubkey 'sha256//AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=;sha256//AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=' 'https://api.example.com/'

        # example.org
        curl --pinnedpubkey 'sha256//AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=' 'https://example.org/'

        # shop.example
        curl --pinnedpubkey 'sha256//AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=;sha256//BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=' 'https://shop.example/'

        """#

    static let hpkp = #"""
        # Made by Pinledger for com.example.shop (The shop): HTTP Public Key Pinning.
        # Check it with: pinledger export hpkp com.example.shop --check FILE

        Host: api.example.com
        Public-Key-Pins: pin-sha256="AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="; pin-sha256="AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="; max-age=5184000

        Host: example.org
        Public-Key-Pins: pin-sha256="AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="; pin-sha256="AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="; max-age=5184000

        Host: shop.example
        Public-Key-Pins: pin-sha256="AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="; pin-sha256="BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ="; max-age=5184000; includeSubDomains

        Host: test.example.org
        Public-Key-Pins-Report-Only: pin-sha256="BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU="; pin-sha256="BgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgY="; max-age=5184000

        """#
}
