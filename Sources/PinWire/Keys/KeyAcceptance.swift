/// How far TLS clients take a server's key of its algorithm and curve, however strong it is.
package enum KeyAcceptance: Hashable, Sendable {
    case everywhere
    /// Some clients refuse it. The reason is the end of a sentence that begins with the key.
    case inPlaces(String)
    /// No client takes it, with the same kind of reason.
    case nowhere(String)
}

extension KeyFacts {
    /// BoringSSL, which Android and Chrome have, takes signatures of RSA, P-256 and P-384 where an app chooses nothing;
    /// the authorities' Baseline Requirements (section 6.1.5) add P-521 and exclude everything else.
    package var acceptance: KeyAcceptance {
        switch self.algorithm {
        case "rsa": .everywhere
        case "ec": self.curveAcceptance
        case "ed25519", "ed448":
            .inPlaces(
                "is an Ed\(self.algorithm.dropFirst(2)) key: no public authority certifies one, and iOS, Android and browsers refuse it"
            )
        case "rsa-pss":
            .inPlaces(
                "is an RSA key for PSS signatures alone (id-RSASSA-PSS): no public authority certifies one, and iOS, Android and browsers refuse it"
            )
        case "dsa": .nowhere("is a DSA key, which TLS clients no longer take")
        case "x25519", "x448", "dh", "dhx":
            .nowhere("is a key for agreeing on secrets (\(self.algorithm)): it cannot sign, so no server can use it")
        default: .inPlaces("is a key of the algorithm \(self.algorithm), which iOS, Android and browsers refuse")
        }
    }

    private var curveAcceptance: KeyAcceptance {
        switch self.curve {
        case "P-256", "P-384": .everywhere
        case "P-521": .inPlaces("is on the curve P-521, which Android, Chrome and others with BoringSSL refuse")
        case nil: .nowhere("brings a curve of its own, which clients refuse")
        case let curve?: .nowhere("is on the curve \(curve), which TLS clients refuse: they take P-256 and P-384")
        }
    }
}
