import Keys
import PinWire
import Testing

/// The bytes of base64 in test data; malformed text gives nothing.
func base64(_ text: String) -> [UInt8] {
    Base64.decode(text) ?? []
}

/// PEM of base64, in lines of 64 characters and without a line break at the end.
func pem(_ label: String, _ base64: String) -> String {
    var lines = ["-----BEGIN \(label)-----"]
    var rest = Substring(base64)
    while !rest.isEmpty {
        lines.append(String(rest.prefix(64)))
        rest = rest.dropFirst(64)
    }
    return (lines + ["-----END \(label)-----"]).joined(separator: "\n")
}

/// The public test key of Wultra's client libraries, in the encodings that OpenSSL 3.0.19 gives it.
enum WultraKey {
    static let point = "BC3kV9OIDnMuVoCdDR9nEA/JidJLTTDLuSA2TSZsGgODSshfbZg31MS90WC/HdbU/A5WL5GmyDkE/iks6INv+XE="
    static let publicKey =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELeRX04gOcy5WgJ0NH2cQD8mJ0ktNMMu5IDZNJmwaA4NKyF9tmDfUxL3RYL8d1tT8DlYvkabI"
        + "OQT+KSzog2/5cQ=="
    /// As the libraries' tests have it, with the curve named twice.
    static let published =
        "MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQgTqkO8z2fD4uCLn0S5IwbK0y8UN24cOVean+ndd3YiSqgCgYIKoZIzj0DAQeh"
        + "RANCAAQt5FfTiA5zLlaAnQ0fZxAPyYnSS00wy7kgNk0mbBoDg0rIX22YN9TEvdFgvx3W1PwOVi+Rpsg5BP4pLOiDb/lx"
    static let pkcs8 =
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgTqkO8z2fD4uCLn0S5IwbK0y8UN24cOVean+ndd3YiSqhRANCAAQt5FfTiA5z"
        + "LlaAnQ0fZxAPyYnSS00wy7kgNk0mbBoDg0rIX22YN9TEvdFgvx3W1PwOVi+Rpsg5BP4pLOiDb/lx"
    static let sec1 =
        "MHcCAQEEIE6pDvM9nw+Lgi59EuSMGytMvFDduHDlXmp/p3Xd2IkqoAoGCCqGSM49AwEHoUQDQgAELeRX04gOcy5WgJ0NH2cQD8mJ0ktNMMu5"
        + "IDZNJmwaA4NKyF9tmDfUxL3RYL8d1tT8DlYvkabIOQT+KSzog2/5cQ=="
    static let sec1WithoutPoint = "MDECAQEEIE6pDvM9nw+Lgi59EuSMGytMvFDduHDlXmp/p3Xd2IkqoAoGCCqGSM49AwEH"
    static let sec1Compressed =
        "MFcCAQEEIE6pDvM9nw+Lgi59EuSMGytMvFDduHDlXmp/p3Xd2IkqoAoGCCqGSM49AwEHoSQDIgADLeRX04gOcy5WgJ0NH2cQD8mJ0ktNMMu5"
        + "IDZNJmwaA4M="
    static let number = "TqkO8z2fD4uCLn0S5IwbK0y8UN24cOVean+ndd3YiSo="
}

/// The Ed25519 key of Dynapins 0.1's own tests.
enum DynapinsKey {
    static let publicKey = "MCowBQYDK2VwAyEA9gocJEBHG+vcm2OH42ZEy8XiYarSBJ3ZBTA5Ni7J+Ac="
    static let pkcs8 = "MC4CAQAwBQYDK2VwBCIEIEottsHhxfNBdKlEbCVOJZ0Pav1mfvjUruTuJMApfwjM"
    static let seed = "Si22weHF80F0qURsJU4lnQ9q/WZ++NSu5O4kwCl/CMw="
}

/// A key of 2048 bits that OpenSSL 3.0.19 made, and its signature over `signed by openssl` (`openssl dgst -sha512
/// -sign`).
enum OpenSSLRSAKey {
    static let pkcs8 = [
        "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQCnOCGdZ8QnG6ggyfAV0OCjUT6wGOGcDk84Vew+LipvTDtXuq/vAYfGxdVG",
        "n9cNgTHWMlSnbKukQ2LY+rAGlLJ5Oy670zpKAy5G/sjnOqEjczeuolYbArdN+lhB9tqMoVXWow+tIl1QdqTFysJPTEM+gFqZ0BkTRRaybKwb",
        "reo6FEn6lDrR1wdGeyj8wXEpsSMYx9HpZ++wUBVAATrFI0WxGW1OgYZf3NEZ3N+m2ZrCBpgltiXWyPH81nSa00izjiuSMtnphzPpWv9Ims5u",
        "l84fkKjTOc6lLlHHpAVdMafzfsn48YNhxkcZyvcrm/NudujhovzRTG3KEy8w7kPd9R4XAgMBAAECggEAI4yS1OBE+p1uEj5r/G9R+lZg0dYQ",
        "THlcTRkzJorw+YVGzmFBWrnEEDVpoGCFuvi+zA8aIRfAq6SpxIAS4OtGv/AdgM+ogiiH847hzgqQTDWH3mfjj012A61Xivp8Ps5jrcQvpnp6",
        "RQtb/zKaOXp4hzaJTE7JreePqjHhKuc/tsXWcYZlAWJGit5E13jNlbcKSkaQ2ggtayjWGzVVVQGm+67Rl/TcTUINeu+O5d9MfGAxpcK201aG",
        "0kLIzs4gJ1jXRlFOa9bKzwNvTaChRX4exQ/gdIJVFHMA8v6Zxuultbzh0XTJRCHCWRClmmsjJPwa2Mlr4jewH3pCAtNUOGPVJQKBgQDS5vyF",
        "lJsQb7QUm3PItDvGila43NHza8P0iK+O8cNdXtAUYW8pNvWWayCHXLIwabXzdUNjP/9gur/O21ZE0ZUqCJUlxPcwCEgvoWB5sAWbYsArAPmK",
        "MCOBywoMuRp9guCCc0ke4gEibeMorz1UtRMJSBjHfVwcn4GS+t6sw1WdFQKBgQDK+ePSrcybrBai8SAk0zFSR4UFvsLPeWV4+er1RU4HjTUV",
        "qW/PlWWhgWDHky3UpXTLWYDs1KD5xBNWvKHiS4PI7r8ord6sPxvTvYkVzQ1R0HjkRPKGKu/nt5iIdyhTMjxe8XCFe4QW4oOXDKGMGX4KomaK",
        "aFU49IEssixO9mNRewKBgF/q6cIe+f8Zrn8IzDnlrqH3XMWquFnLE03ttFqAneejLWN3hMTr1/nXMu4dPHVEPppBJKrI+m6VwJJlsvCNmReK",
        "27pXwEw6GAqBjI0LfyFSYi+su9EbX6qyGxn6PZADq/PoVsMS6o0sCPoB6RTTXZsFDS/9VZ029glQy2ErXY6ZAoGBAJwOzU8qOWpnQXA+HAy0",
        "I/Oy8V+db4K9P3toC3JQutGri+j/wOvFXcJzCsnnKxGXtNi0FCACy1G9o3DIz16B2O0gQvEv3UhprSd7Tm7onRkORCSdrinh0VpDGo+xrdtp",
        "gGkvEOhQMxq1RZ9ZIsvovbPHcTdxSDTmKHsI8nAzl+EJAoGBAKYI3hldnec3w9XE3l5uH0tCXwicqUVX2lpuwcmAyLLjoo4mQn6MH4JLenfS",
        "zx8UqYvdS4jKHreujVixEVy9UpqvJHhC4cYPJdBdrNsN72SBMf95T2tfpZ76M5hkRqayM8wmS2PDbRJynJhUCdPI/bta6DvnUDMoSszNL2q0",
        "aSaQ",
    ].joined()
    static let publicKey = [
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEApzghnWfEJxuoIMnwFdDgo1E+sBjhnA5POFXsPi4qb0w7V7qv7wGHxsXVRp/XDYEx",
        "1jJUp2yrpENi2PqwBpSyeTsuu9M6SgMuRv7I5zqhI3M3rqJWGwK3TfpYQfbajKFV1qMPrSJdUHakxcrCT0xDPoBamdAZE0UWsmysG63qOhRJ",
        "+pQ60dcHRnso/MFxKbEjGMfR6WfvsFAVQAE6xSNFsRltToGGX9zRGdzfptmawgaYJbYl1sjx/NZ0mtNIs44rkjLZ6Ycz6Vr/SJrObpfOH5Co",
        "0znOpS5Rx6QFXTGn837J+PGDYcZHGcr3K5vzbnbo4aL80UxtyhMvMO5D3fUeFwIDAQAB",
    ].joined()
    static let message = Array("signed by openssl".utf8)
    static let signature = [
        "H31MvYamnR+uXSrWZX6UDZ7yyTfJ8pQazVihgNW/WPxSf9UrxU6lLAnYjReiUqg+AJ5nUP6E5xSYnDf9Y8o/Rf3wUfuUXKrw4y/D0BnP5VrN",
        "zuRVFbwIIhFyTFh39uLHzFkzLq7i8g1WubMwVi03semuPDn3Wqe661Js7lVLpuD5nmTOC9IsSX9hg7M8BtmnXBLLMakSPK8aEe1nr/5MWlrZ",
        "1PvxWLx0EZZfI7SiJHMj7vxrXShMjXk9XaDAwndPy061Hb0/b45cmeHFLEpEpM8hLADNyhM1R2Es9kjT8q2YtSaWOXFYUNQXydc+6aJvDOK4",
        "rrl6NRcHq15pv3Bb5Q==",
    ].joined()
    /// The RSAPrivateKey within.
    static let pkcs1 = Base64.encode(base64(pkcs8).dropFirst(26))
}
