import PinWire

/// What a MueJam client asks under `POST …/security/certificate/verify`: whether a fingerprint is of a certificate that
/// is answered.
package struct MueJamVerification: Hashable, Sendable {
    /// The hashes that fingerprints are made with.
    package enum Algorithm: String, CaseIterable, Sendable, Hashable {
        case sha256
        case sha1
    }

    package let algorithm: Algorithm
    /// As it was given.
    private let fingerprint: String

    /// Reads a request's body: `{"fingerprint":"…","algorithm":"sha256"}`, of which the second is optional. Other
    /// members are passed over.
    ///
    /// - Throws: ``MueJamError``.
    package init(_ body: [UInt8]) throws(MueJamError) {
        guard let json = try? JSON(parsing: body), case .object(let members) = json else { throw .malformedBody }
        let fingerprint = members["fingerprint"] ?? .null
        // What Python takes for nothing is missing.
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

    /// Whether the fingerprint is of this digest: hexadecimal in any case, colons counting for nothing.
    func isFingerprint(of digest: [UInt8]) -> Bool {
        self.fingerprint.utf8.filter { $0 != UInt8(ascii: ":") }.elementsEqual(Hex.encode(digest).utf8) {
            given, wanted in
            given == wanted || ((0x41...0x46).contains(given) && given + 0x20 == wanted)
        }
    }
}

/// How MueJam writes fingerprints.
enum MueJamFingerprint {
    /// Two upper-case hexadecimal digits for each byte, with colons between.
    static func text(of digest: [UInt8]) -> String {
        digest.map { Hex.encode([$0]).uppercased() }.joined(separator: ":")
    }
}
