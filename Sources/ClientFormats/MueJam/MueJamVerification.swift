import PinWire

/// A MueJam client's request under `POST …/security/certificate/verify`: whether a fingerprint belongs to a served
/// certificate.
package struct MueJamVerification: Hashable, Sendable {
    /// The hash algorithms of fingerprints.
    package enum Algorithm: String, CaseIterable, Sendable, Hashable {
        case sha256
        case sha1
    }

    package let algorithm: Algorithm
    /// The fingerprint as it was given.
    private let fingerprint: String

    /// Reads a request's body: `{"fingerprint":"…","algorithm":"sha256"}`, of which the second is optional. Other
    /// members are ignored.
    ///
    /// - Throws: ``MueJamError``.
    package init(_ body: [UInt8]) throws(MueJamError) {
        guard let json = try? JSON(parsing: body), case .object(let members) = json else { throw .malformedBody }
        let fingerprint = members["fingerprint"] ?? .null
        // Values that are false in Python count as missing.
        let nothing: [JSON] = [.null, "", false, 0, [], [:]]
        guard !nothing.contains(fingerprint) else { throw .missingFingerprint }
        guard let text = fingerprint.stringValue else { throw .malformedFingerprint(fingerprint) }
        self.fingerprint = text
        switch members["algorithm"] {
        case nil: self.algorithm = .sha256
        case let given?:
            guard let algorithm = given.stringValue.flatMap(Algorithm.init(rawValue:)) else {
                throw .unknownAlgorithm(given)
            }
            self.algorithm = algorithm
        }
    }

    /// Whether the fingerprint is of this digest: hexadecimal in any case, colons ignored.
    func isFingerprint(of digest: [UInt8]) -> Bool {
        self.fingerprint.utf8.filter { $0 != UInt8(ascii: ":") }.elementsEqual(Hex.encode(digest).utf8) {
            given, wanted in
            given == wanted || ((0x41...0x46).contains(given) && given + 0x20 == wanted)
        }
    }
}

/// MueJam's written form of fingerprints.
enum MueJamFingerprint {
    /// Two upper-case hexadecimal digits for each byte, with colons between.
    static func text(of digest: [UInt8]) -> String {
        digest.map { Hex.encode([$0]).uppercased() }.joined(separator: ":")
    }
}
