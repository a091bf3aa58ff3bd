/// The facts of a public key, its pin included.
public struct KeyFacts: Hashable, Sendable {
    /// SHA-256 of the SubjectPublicKeyInfo in DER.
    public var pin: Pin
    /// `rsa`, `ec`, `ed25519`, `ed448`, or another name of OpenSSL in lower case.
    public var algorithm: String
    /// The key's size in bits by OpenSSL's count: of the modulus, of the curve's order.
    public var bits: Int
    /// The curve of an EC key: `P-256`, `P-384`, `P-521`, or another name of OpenSSL.
    public var curve: String?
    /// SHA-512 of the SubjectPublicKeyInfo, 64 bytes.
    public var spkiSHA512: [UInt8]
    /// SHA-256 of the raw key, 32 bytes: the contents of the SubjectPublicKeyInfo's BIT STRING, which is PKCS#1 for RSA
    /// and the X9.63 point for EC. Clients that hash `SecKeyCopyExternalRepresentation` need it.
    public var rawKeySHA256: [UInt8]
    /// Why the key must not be used, as ends of sentences: `is an RSA key of 1024 bits`. Empty for a sound key.
    public var weaknesses: [String]

    public init(
        pin: Pin, algorithm: String, bits: Int, curve: String? = nil, spkiSHA512: [UInt8], rawKeySHA256: [UInt8],
        weaknesses: [String] = []
    ) {
        self.pin = pin
        self.algorithm = algorithm
        self.bits = bits
        self.curve = curve
        self.spkiSHA512 = spkiSHA512
        self.rawKeySHA256 = rawKeySHA256
        self.weaknesses = weaknesses
    }
}

/// The facts of an X.509 certificate (RFC 5280).
public struct CertificateFacts: Hashable, Sendable {
    public var key: KeyFacts
    /// SHA-256 and SHA-1 of the whole certificate in DER, 32 and 20 bytes.
    public var sha256: [UInt8]
    public var sha1: [UInt8]
    /// Distinguished names in the form of RFC 4514, printable and in UTF-8.
    public var subject: String
    public var issuer: String
    /// The subject's last common name.
    public var commonName: String?
    /// Subject alternative names: DNS names in lower case, and IP addresses in their textual form.
    public var dnsNames: [String]
    public var ipAddresses: [String]
    /// The first e-mail address among the alternative names of a certificate without a common name: Apple's systems
    /// show such a certificate under it.
    public var emailAddress: String?
    /// The serial number in lower-case hexadecimal, without leading zeros; a negative one begins with `-`.
    public var serial: String
    public var notBefore: Timestamp
    public var notAfter: Timestamp
    /// Whether basic constraints say that it is an authority's.
    public var isCA: Bool
    /// Subject and issuer are the same name, and it is signed with its own key.
    public var isSelfSigned: Bool

    /// The most names of each kind that are kept. No public authority issues a certificate with as many.
    package static let nameLimit = 1000

    /// Whether it belongs to an authority rather than to a server: one that may sign and names no host. `openssl req
    /// -x509` makes servers' certificates that say they may sign.
    public var isAuthority: Bool { self.isCA && self.dnsNames.isEmpty }

    public init(
        key: KeyFacts, sha256: [UInt8], sha1: [UInt8], subject: String, issuer: String, commonName: String? = nil,
        dnsNames: [String] = [], ipAddresses: [String] = [], emailAddress: String? = nil, serial: String,
        notBefore: Timestamp, notAfter: Timestamp,
        isCA: Bool = false, isSelfSigned: Bool = false
    ) {
        self.key = key
        self.sha256 = sha256
        self.sha1 = sha1
        self.subject = subject
        self.issuer = issuer
        self.commonName = commonName
        self.dnsNames = dnsNames
        self.ipAddresses = ipAddresses
        self.emailAddress = emailAddress
        self.serial = serial
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.isCA = isCA
        self.isSelfSigned = isSelfSigned
    }
}
