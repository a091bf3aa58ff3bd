package import PinWire

/// Why a MueJam client gets no fingerprints or no verdict: `{"error":{"code","message","details"}}`, with the codes,
/// texts and status codes of the MueJam server.
package enum MueJamError: Error, Hashable, Sendable {
    /// A member of the request is missing or empty.
    case missingFingerprint
    /// `algorithm` is neither `sha256` nor `sha1`, but this value.
    case unknownAlgorithm(JSON)
    /// `fingerprint` is not a string, but this value.
    case malformedFingerprint(JSON)
    /// The body is not a JSON object.
    case malformedBody
    /// There is no certificate to name, for this reason.
    case certificate(reason: String)
    /// There is none to compare with, for this reason.
    case verification(reason: String)

    /// The HTTP status.
    package var status: Int {
        switch self {
        case .missingFingerprint, .unknownAlgorithm, .malformedFingerprint, .malformedBody: 400
        case .certificate, .verification: 500
        }
    }

    /// The code in the body.
    package var code: String {
        switch self {
        case .missingFingerprint: "MISSING_FIELD"
        case .unknownAlgorithm, .malformedFingerprint, .malformedBody: "INVALID_FIELD_VALUE"
        case .certificate: "CERTIFICATE_ERROR"
        case .verification: "VERIFICATION_ERROR"
        }
    }

    private var message: String {
        switch self {
        case .missingFingerprint: "Fingerprint is required"
        case .unknownAlgorithm: "Algorithm must be sha256 or sha1"
        case .malformedFingerprint: "Fingerprint must be a string"
        case .malformedBody: "Request body must be a JSON object"
        case .certificate: "Unable to retrieve certificate fingerprints"
        case .verification: "Unable to verify certificate fingerprint"
        }
    }

    private var details: OrderedJSON {
        switch self {
        case .missingFingerprint: ["field": "fingerprint"]
        case .unknownAlgorithm(let provided):
            ["field": "algorithm", "provided": OrderedJSON(provided), "allowed": ["sha256", "sha1"]]
        case .malformedFingerprint(let provided): ["field": "fingerprint", "provided": OrderedJSON(provided)]
        case .malformedBody: ["field": "body"]
        case .certificate(let reason), .verification(let reason): ["technical_message": .string(reason)]
        }
    }

    /// The answer.
    package var reply: FormatReply {
        FormatReply(
            status: self.status,
            ["error": ["code": .string(self.code), "message": .string(self.message), "details": self.details]])
    }
}
