import SwiftASN1
import X509

/// What platforms ask of a server's chain beyond swift-certificates' policies of RFC 5280.
///
/// Those take every issuer of version 1 for an authority, compare the common name where a certificate has no names, and do not look at
/// the extended key usage. Here, an issuer below the root is an authority only if it says so (RFC 5280 section 4.2.1.9), the host's own
/// certificate has names (RFC 9525 section 6.1), and is for servers (RFC 5280 section 4.2.1.12).
struct ServerChainPolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [.X509ExtensionID.extendedKeyUsage]

    mutating func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        do {
            let leaf = chain.leaf
            guard try leaf.extensions.subjectAlternativeNames?.isEmpty == false else {
                return .failsToMeetPolicy(reason: "the certificate names no host")
            }
            if let usage = try leaf.extensions.extendedKeyUsage {
                guard usage.contains(where: { $0 == .serverAuth || $0 == .any }) else {
                    return .failsToMeetPolicy(reason: "the certificate is not for servers")
                }
            }
            // The root is trusted for what it is.
            for issuer in chain.dropFirst().dropLast() {
                guard issuer.version == .v3, case .isCertificateAuthority? = try issuer.extensions.basicConstraints,
                    try issuer.extensions.keyUsage?.keyCertSign ?? true
                else { return .failsToMeetPolicy(reason: "an issuer in the chain is no certification authority") }
            }
            return .meetsPolicy
        } catch {
            return .failsToMeetPolicy(reason: "an extension of the chain is malformed")
        }
    }
}
