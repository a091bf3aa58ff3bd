import PinWire
import Pinning

private func pinOf(_ bytes: [UInt8]) -> Pin { Pin(bytes: bytes) ?? zero }
private let zero = pin(0)
private let month: Int64 = 30 * day
private func soundWith(_ first: CertificateFacts) -> AppCommand { enforcing(shown(first), requested(2)) }
private let fresh: [AppCommand] = [.rename("Shop")]
/// Every key has a certificate, and so an end.
private let ending: [AppCommand] = [
    enforcing(
        shown(certificate(1, days: 50)), shown(certificate(2, issuer: "O=Other", days: 40), .backup),
        shown(certificate(3, days: 20), .backup))
]
private let weak = ["is an RSA key of 1024 bits"]

/// G06, G16, G20 to G23.
let certificateCases: [RailCase] = [
    // G06
    RailCase(
        .outlivesItsPins, .override, "where the last certificate expires before clients could hear of it",
        given: [
            enforcing(
                shown(certificate(1, from: -100, days: 1)), shown(certificate(2, issuer: "O=Other", days: 1), .backup))
        ], when: .setPinsValidUntil(monday.adding(seconds: 20 * day))),
    RailCase(
        .outlivesItsPins, .override, "where the last certificate has expired",
        given: [
            enforcing(
                shown(certificate(1, from: -100, days: -1)), shown(certificate(2, issuer: "O=Other", days: -2), .backup)
            )
        ], when: .setPinsValidUntil(monday.adding(seconds: 20 * day))),
    RailCase(
        .outlivesItsPins, .warn, "where the last certificate expires before the end",
        given: [
            enforcing(shown(certificate(1, days: 10)), shown(certificate(2, issuer: "O=Other", days: 5), .backup))
        ], when: .setPinsValidUntil(monday.adding(seconds: 20 * day))),
    RailCase(
        .outlivesItsPins, .warn, "where the pin goes that would have lasted",
        given: [.setPinsValidUntil(monday.adding(seconds: 45 * day))] + [
            enforcing(
                shown(certificate(1, days: 40)), shown(certificate(2, issuer: "O=Other", days: 300), .backup),
                shown(certificate(3, days: 30), .backup))
        ], when: .retirePin(api, .baseline, pin(2))),
    RailCase(
        .outlivesItsPins, quiet: "where one certificate lasts", given: ending,
        when: .setPinsValidUntil(monday.adding(seconds: 30 * day))),
    RailCase(
        .outlivesItsPins, quiet: "where a key has no certificate yet", given: [soundWith(certificate(1, days: 5))],
        when: .setPinsValidUntil(monday.adding(seconds: 20 * day))),

    // G16
    RailCase(
        .wrongHash, .block, "for the hash of a whole certificate",
        when: .addPin(api, .baseline, .init(pin: pinOf(certificate(1).sha256), role: .backup))),
    RailCase(
        .wrongHash, .block, "for the hash of a key's raw bytes",
        when: .addPin(api, .baseline, .init(pin: pinOf(key(2).rawKeySHA256), role: .backup))),
    RailCase(
        .wrongHash, .block, "for the hash of a certificate that a probe saw", given: fresh,
        when: enforcing(AppCommand.NewPin(pin: pinOf(certificate(1).sha256), role: .primary), requested(2)),
        facts: ExternalFacts(serving(1, certificates: [certificate(1)]))),
    RailCase(
        .wrongHash, .block, "for the hash of a certificate's PEM text",
        when: .addPin(api, .baseline, .init(pin: pinOf(sha256(PEM.text([7], .certificate).utf8)), role: .backup)),
        facts: ExternalFacts(material: { $0 == certificate(1).sha256 ? [7] : nil })),
    RailCase(
        .wrongHash, .block, "for the hash of a public key's PEM text without its last line feed",
        when: .addPin(
            api, .baseline, .init(pin: pinOf(sha256(PEM.text([7], .publicKey).utf8.dropLast())), role: .backup)),
        facts: ExternalFacts(material: { $0 == pin(1).bytes ? [7] : nil })),
    RailCase(
        .wrongHash, .block, "for the hash of a certificate's PEM text that Windows saved",
        when: .addPin(
            api, .baseline,
            .init(pin: pinOf(sha256(PEM.text([7], .certificate).replacing("\n", with: "\r\n").utf8)), role: .backup)),
        facts: ExternalFacts(material: { $0 == certificate(1).sha256 ? [7] : nil })),
    RailCase(
        .wrongHash, .block, "for the hash of a public key's PEM text that Windows saved, without its last line end",
        when: .addPin(
            api, .baseline,
            .init(
                pin: pinOf(sha256(PEM.lines([7], .publicKey).joined(separator: "\r\n").utf8)), role: .backup)),
        facts: ExternalFacts(material: { $0 == pin(1).bytes ? [7] : nil })),
    RailCase(
        .wrongHash, quiet: "for the hash of the SubjectPublicKeyInfo", when: .addPin(api, .baseline, requested(8))),

    // G20
    RailCase(
        .managedCertificate, .warn, "for a certificate of ninety days", given: fresh,
        when: soundWith(certificate(1, from: -10, days: 80))),
    RailCase(
        .managedCertificate, .warn, "for one that a probe saw", given: fresh,
        when: enforcing(new(1), requested(2)),
        facts: ExternalFacts(serving(1, certificates: [certificate(1, from: -10, days: 80)]))),
    RailCase(
        .managedCertificate, quiet: "for one of more than a hundred days", given: fresh, when: soundWith(certificate(1))
    ),
    RailCase(
        .managedCertificate, quiet: "for a backup, which no renewal changes",
        when: .addPin(api, .baseline, shown(certificate(8, from: -10, days: 80), .backup))),
    RailCase(
        .managedCertificate, quiet: "for dates that make no sense", given: fresh,
        when: soundWith(certificate(1, from: 400, days: 300)), prepare: { $0.loweredRails = [.certificateUnfit] }),

    // G21
    RailCase(
        .weakKey, .block, "for a key that can be broken", given: fresh,
        when: soundWith(certificate(1, weaknesses: weak))),
    RailCase(
        .weakKey, .block, "for a weak backup",
        when: .addPin(
            api, .baseline, shown(certificate(8, weaknesses: weak), .backup))),
    RailCase(
        .weakKey, .block, "for a weak key that a probe saw", given: fresh, when: enforcing(new(1), requested(2)),
        facts: ExternalFacts(serving(1, certificates: [certificate(1, weaknesses: weak)]))),
    RailCase(
        .weakKey, .block, "for a key on a curve that clients refuse", given: fresh,
        when: soundWith(certificate(1, curve: "secp256k1"))),
    RailCase(
        .weakKey, .block, "for a key that brings its own curve", given: fresh,
        when: soundWith(certificate(1, curve: nil, weaknesses: ["brings a curve of its own, which clients refuse"]))),
    RailCase(
        .weakKey, .override, "for a key that some clients refuse", given: fresh,
        when: soundWith(certificate(1, algorithm: "ed25519", curve: nil))),
    RailCase(
        .weakKey, .override, "for a backup that some clients refuse",
        when: .addPin(api, .baseline, shown(certificate(8, curve: "P-521"), .backup))),
    RailCase(
        .weakKey, .warn, "for a key that is pinned already and that clients refuse",
        given: [enforcing(new(1), requested(2))], when: .describeKeys([.publicKey(key(1, curve: "brainpoolP256r1"))])),
    RailCase(
        .weakKey, .warn, "for a key that is pinned already",
        given: [enforcing(new(1), requested(2))], when: .describeKeys([.publicKey(key(1, weaknesses: weak))])),
    RailCase(
        .weakKey, .unknown, "for a key of which only the hash is known", given: fresh,
        when: enforcing(new(1), requested(2))),
    RailCase(.weakKey, quiet: "for a strong key", given: fresh, when: soundWith(certificate(1))),

    // G22
    RailCase(
        .certificateUnfit, .override, "for an expired certificate of the served key", given: fresh,
        when: soundWith(certificate(1, days: 0))),
    RailCase(
        .certificateUnfit, .override, "for one that is not valid yet", given: fresh,
        when: soundWith(certificate(1, from: 1))),
    RailCase(
        .certificateUnfit, .override, "for one of another host", given: fresh,
        when: soundWith(certificate(1, names: ["www.example.com"]))),
    RailCase(
        .certificateUnfit, .override, "for one of an exact name where a wildcard is pinned", given: fresh,
        when: enforcing(on: cdn, shown(certificate(1, names: ["a.cdn.example.com"])), requested(2)), facts: unseen),
    RailCase(
        .certificateUnfit, .override, "for one without a name", given: fresh,
        when: soundWith(certificate(1, names: []))),
    RailCase(
        .certificateUnfit, .unknown, "for one of more names than are kept", given: fresh,
        when: soundWith(certificate(1, names: (1...1000).map { "a\($0).example.com" }))),
    RailCase(
        .certificateUnfit, .warn, "for a self-signed one", given: fresh,
        when: soundWith(certificate(1, issuer: "CN=api.example.com", isSelfSigned: true))),
    RailCase(
        .certificateUnfit, .warn, "for an expired one of a backup",
        when: .addPin(api, .baseline, shown(certificate(8, days: -1), .backup))),
    RailCase(
        .certificateUnfit, quiet: "for a wildcard certificate", given: fresh,
        when: soundWith(certificate(1, names: ["*.example.com"]))),
    RailCase(
        .certificateUnfit, quiet: "where a probe saw a newer one of the same key", given: fresh,
        when: soundWith(certificate(1, days: -1)),
        facts: ExternalFacts(serving(1, certificates: [certificate(1, days: 200)]))),
    RailCase(
        .certificateUnfit, quiet: "for an authority's, which is no host's", given: fresh,
        when: soundWith(certificate(1, names: [], subject: "O=Root", issuer: "O=Root", isCA: true, isSelfSigned: true))),

    // G23
    RailCase(
        .expiryLadder, .warn, "within thirty days of the end", given: fresh, when: soundWith(certificate(1, days: 30))),
    RailCase(
        .expiryLadder, .warn, "in the second half of a short life", given: fresh,
        when: soundWith(certificate(1, from: -7, days: 5))),
    RailCase(.expiryLadder, quiet: "before that", given: fresh, when: soundWith(certificate(1, days: 31))),
    RailCase(
        .expiryLadder, quiet: "in the first half of a short life", given: fresh,
        when: soundWith(certificate(1, from: -5, days: 7))),
]

private func root(_ number: Int, _ name: String = "CN=Root X1,O=Good Authority") -> CertificateFacts {
    certificate(number, names: [], subject: name, issuer: name, days: 3000, isCA: true, isSelfSigned: true)
}

private func intermediate(_ number: Int, _ subject: String = "CN=R1,O=Good Authority") -> CertificateFacts {
    certificate(
        number, names: [], subject: subject, issuer: "CN=Root X1,O=Good Authority", days: 1000, isCA: true)
}

private let drawn = intermediate(1, "CN=R10,O=Let's Encrypt,C=US")

/// G17 to G19.
let authorityCases: [RailCase] = [
    // G17
    RailCase(
        .intermediateAlone, .override, "for an intermediate alone", given: fresh, when: soundWith(intermediate(1))),
    RailCase(
        .intermediateAlone, .override, "for two of them", given: fresh,
        when: enforcing(shown(intermediate(1)), shown(intermediate(5)), requested(2))),
    RailCase(.intermediateAlone, .block, "for one that is drawn at random", given: fresh, when: soundWith(drawn)),
    RailCase(
        .intermediateAlone, .block, "for one that a probe saw above the server's key", given: fresh,
        when: enforcing(new(1), requested(2)),
        facts: ExternalFacts(serving(9, 1, certificates: [certificate(9), drawn]))),
    RailCase(
        .intermediateAlone, .warn, "where it was so before", given: [soundWith(drawn)],
        when: .addPin(api, .baseline, requested(8))),
    RailCase(
        .intermediateAlone, quiet: "beside the server's own key", given: fresh,
        when: enforcing(shown(intermediate(1)), shown(certificate(5)), requested(2))),
    RailCase(
        .intermediateAlone, quiet: "beside its root, whatever its role", given: fresh,
        when: enforcing(shown(drawn), shown(root(5), .backup), requested(2))),
    RailCase(
        .intermediateAlone, quiet: "where it is only tried", given: fresh,
        when: enforcing(mode: .reportOnly, shown(drawn), requested(2))),
    RailCase(
        .intermediateAlone, quiet: "of a root that another one has signed too",
        given: [
            enforcing(mode: .reportOnly, shown(root(1)), requested(2)),
            .describeKeys([
                .certificate(
                    certificate(
                        1, names: [], subject: "CN=Root X1,O=Good Authority", issuer: "CN=Old", days: 4000, isCA: true))
            ]),
        ], when: .setMode(api, .baseline, .enforce)),

    // G18
    RailCase(.rootAlone, .warn, "for a root alone", given: fresh, when: soundWith(root(1))),
    RailCase(.rootAlone, quiet: "for the server's own key", given: fresh, when: soundWith(certificate(1))),

    // G19
    RailCase(
        .oneAuthority, .warn, "where one owner's intermediates signed every key", given: fresh,
        when: enforcing(shown(certificate(1)), shown(certificate(2, issuer: "CN=R2,O=Good Authority"), .backup))),
    RailCase(
        .oneAuthority, .warn, "where the owner's name has a comma", given: fresh,
        when: enforcing(
            shown(certificate(1, issuer: "CN=A,O=Good\\, Inc.")),
            shown(certificate(2, issuer: "CN=B,O=Good\\, Inc."), .backup))),
    RailCase(
        .oneAuthority, quiet: "where another authority signed one", given: fresh,
        when: enforcing(shown(certificate(1)), shown(certificate(2, issuer: "CN=R2,O=Other"), .backup))),
    RailCase(
        .oneAuthority, quiet: "where one key can be certified by anybody", given: fresh,
        when: soundWith(certificate(1))),
]
