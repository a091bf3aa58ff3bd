import Crypto
import Foundation
import NIOSSL
import PinWire
import PinledgerClient
import SeededRandom
import SwiftASN1
import Testing
import X509
import _CryptoExtras

@Suite("The key of a certificate")
struct SubjectPublicKeyInfoTests {
    private func certificate(_ key: Certificate.PrivateKey, _ version: Certificate.Version = .v3) throws -> [UInt8] {
        let name = try DistinguishedName { CommonName("a key") }
        let certificate = try Certificate(
            version: version, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: Date(),
            notValidAfter: Date() + 60,
            issuer: name, subject: name, extensions: Certificate.Extensions(), issuerPrivateKey: key)
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    @Test("Keys of each kind are found as BoringSSL finds them, in certificates of version 1 too")
    func kinds() throws {
        let keys: [Certificate.PrivateKey] = [
            Certificate.PrivateKey(P256.Signing.PrivateKey()), Certificate.PrivateKey(P384.Signing.PrivateKey()),
            Certificate.PrivateKey(P521.Signing.PrivateKey()), Certificate.PrivateKey(Curve25519.Signing.PrivateKey()),
            Certificate.PrivateKey(try _RSA.Signing.PrivateKey(keySize: .bits2048)),
        ]
        for key in keys {
            for version in [Certificate.Version.v1, .v3] {
                let bytes = try self.certificate(key, version)
                let expected = try NIOSSLCertificate(bytes: bytes, format: .der).extractPublicKey().toSPKIBytes()
                #expect(SubjectPublicKeyInfo(certificate: bytes)?.bytes == expected)
            }
        }
    }

    @Test("Damaged certificates have another key, the same key or none, and nothing worse")
    func damaged() throws {
        let bytes = try self.certificate(Certificate.PrivateKey(P256.Signing.PrivateKey()))
        for length in bytes.indices { #expect(SubjectPublicKeyInfo(certificate: Array(bytes[..<length])) == nil) }
        var generator = SeededGenerator(seed: 20)
        for _ in 0..<TestDepth.rounds(20_000) {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                damaged[Int.random(in: damaged.indices, using: &generator)] = UInt8.random(
                    in: .min ... .max, using: &generator)
            }
            if let info = SubjectPublicKeyInfo(certificate: damaged) {
                #expect(info.bytes.count < bytes.count, "\(damaged)")
            }
        }
        #expect(SubjectPublicKeyInfo(certificate: bytes + [0]) == nil)
        #expect(SubjectPublicKeyInfo(certificate: [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
        #expect(SubjectPublicKeyInfo(certificate: [0x30, 0x80, 0, 0]) == nil)
    }
}
