import Crypto
import Foundation
import NIOSSL
import PinWire
import PinledgerClient
import SwiftASN1
import X509

/// A certification authority of a test, and the servers' certificates that it issues.
struct Authority {
    let key: P256.Signing.PrivateKey
    let certificate: Certificate
    let name: DistinguishedName

    /// An intermediate authority, or what is not one and issues all the same.
    init(
        _ name: String, by issuer: Authority, version: Certificate.Version = .v3, extensions: Certificate.Extensions
    ) throws {
        self.key = P256.Signing.PrivateKey()
        self.name = try DistinguishedName { CommonName(name) }
        self.certificate = try Certificate(
            version: version, serialNumber: .init(), publicKey: Certificate.PrivateKey(self.key).publicKey,
            notValidBefore: Date() - 86_400, notValidAfter: Date() + 86_400, issuer: issuer.name, subject: self.name,
            signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(issuer.key))
    }

    init(_ name: String) throws {
        self.key = P256.Signing.PrivateKey()
        self.name = try DistinguishedName { CommonName(name) }
        let signer = Certificate.PrivateKey(self.key)
        self.certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: signer.publicKey, notValidBefore: Date() - 86_400,
            notValidAfter: Date() + 86_400, issuer: self.name, subject: self.name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            },
            issuerPrivateKey: signer)
    }

    var pem: String { get throws { try self.certificate.serializeAsPEM().pemString } }
    var pin: Pin { Self.pin(of: self.certificate) }

    /// A server's identity for some names or addresses.
    func issue(
        _ names: [GeneralName], from begin: Date = Date() - 3600, until end: Date = Date() + 3600,
        usage: ExtendedKeyUsage? = nil, isCritical: Bool = false, presenting more: [Certificate] = []
    ) throws -> ServerIdentity {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: begin, notValidAfter: end,
            issuer: self.name, subject: try DistinguishedName { CommonName("api.example.com") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                if !names.isEmpty { SubjectAlternativeNames(names) }
                if let usage {
                    if isCritical { Critical(usage) } else { usage }
                }
            },
            issuerPrivateKey: Certificate.PrivateKey(self.key))
        return try ServerIdentity(certificate: certificate, key: key, presenting: more)
    }

    static func pin(of certificate: Certificate) -> Pin {
        // By BoringSSL, and so not by what is tested.
        guard let pem = try? certificate.serializeAsPEM().pemString,
            let other = try? NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem),
            let key = try? other.extractPublicKey().toSPKIBytes(), let pin = Pin(bytes: sha256(key))
        else { preconditionFailure("a certificate has a key, and 32 bytes make a pin") }
        return pin
    }
}

struct ServerIdentity {
    let pin: Pin
    let chain: [NIOSSLCertificateSource]
    let key: NIOSSLPrivateKeySource

    init(certificate: Certificate, key: Certificate.PrivateKey, presenting more: [Certificate]) throws {
        self.pin = Authority.pin(of: certificate)
        self.chain = try ([certificate] + more).map { one in
            .certificate(try NIOSSLCertificate(bytes: Array(try one.serializeAsPEM().pemString.utf8), format: .pem))
        }
        let text = Array(try key.serializeAsPEM().pemString.utf8)
        self.key = .privateKey(try NIOSSLPrivateKey(bytes: text, format: .pem))
    }
}
