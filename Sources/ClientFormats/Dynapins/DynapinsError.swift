package import Pinning

/// Why a Dynapins client gets no pins.
///
/// Status codes and texts are those of the Dynapins server, versions 0.0.1 and 0.2.1, which write every error as
/// `{"error":"…","code":…}`. Its SDKs treat every status but 200 the same: the connection is refused.
package enum DynapinsError: Error, Hashable, Sendable, CaseIterable {
    case methodNotAllowed
    /// The query has no `domain`, or an empty one.
    case missingDomain
    /// `domain` is longer than 253 bytes, or neither a host name nor `*.` and one.
    case invalidDomain
    /// The app's document has no pins for the domain, or leaves it to the app's built-in pins.
    case unknownDomain
    /// Fewer than two distinct pins are published. SDK 0.2 passes them to TrustKit, which ends the process below two.
    case tooFewPins
    /// There is no signature.
    case notSigned

    /// The HTTP status.
    package var status: Int {
        switch self {
        case .missingDomain, .invalidDomain: 400
        case .unknownDomain: 403
        case .methodNotAllowed: 405
        case .tooFewPins: 422
        case .notSigned: 500
        }
    }

    /// The text of the server of a protocol. ``tooFewPins``, which that server does not know, has its text for a domain
    /// without pins.
    package func message(for version: DynapinsProtocol) -> String {
        switch self {
        case .methodNotAllowed: "Method not allowed"
        case .missingDomain: "Missing required query parameter: domain"
        case .invalidDomain: "Invalid domain parameter"
        case .unknownDomain: "Domain not found in whitelist"
        case .tooFewPins: "Failed to retrieve certificate for domain: fewer than two pins are published"
        case .notSigned:
            switch version {
            case .ed25519: "Failed to generate signature"
            case .es256: "Failed to generate signed token"
            }
        }
    }

    /// The answer.
    package func reply(for version: DynapinsProtocol) -> FormatReply {
        FormatReply(
            status: self.status,
            ["error": .string(self.message(for: version)), "code": .integer(Int64(self.status))])
    }
}
