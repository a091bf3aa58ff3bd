internal import PinWire

/// Public keys as JSON (RFC 7517): one, a set of them, or an array.
enum JSONWebKeys {
    /// The members that only private and symmetric keys have (RFC 7518 section 6, RFC 8037 section 2).
    private static let privateMembers: Set<String> = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    static func read(_ text: ArraySlice<UInt8>) throws(UploadError) -> [Described<KeyFacts>] {
        try self.refusePrivateMembers(of: text)
        let json: JSON
        do {
            json = try JSON(parsing: text, limits: JSONLimits(depth: 8, nodes: 10_000))
        } catch {
            throw .malformed(.whole, kind: .json, detail: error.description)
        }
        if let keys = json["keys"]?.arrayValue ?? json.arrayValue {
            guard keys.count <= Upload.maximumCount else { throw .tooMany }
            guard !keys.isEmpty else { throw .empty }
            var described: [Described<KeyFacts>] = []
            for (index, key) in keys.enumerated() {
                described.append(try self.described(key, .entry(index + 1)))
            }
            return described
        }
        return [try self.described(json, .whole)]
    }

    /// Throws if there is a private member anywhere, before strings are made of it that could not be wiped.
    private static func refusePrivateMembers(of text: ArraySlice<UInt8>) throws(UploadError) {
        var isKey = false
        var isPrivate = false
        var at = text.startIndex
        while let start = text[at...].firstIndex(of: UInt8(ascii: "\"")) {
            var end = start + 1
            var isEscaped = false
            while end < text.endIndex, text[end] != UInt8(ascii: "\"") {
                if text[end] == UInt8(ascii: "\\") { isEscaped = true }
                end += text[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard end < text.endIndex else { break }
            at = end + 1
            let next = text[at...].first { !ASCII.isSpace($0) }
            let content = text[(start + 1)..<end]
            // The key type of a symmetric key is a value.
            if content.elementsEqual("oct".utf8) { isPrivate = true }
            guard next == UInt8(ascii: ":") else { continue }
            // No name of this format needs an escape, and an escaped name could hide a private member.
            if isEscaped {
                throw .malformed(.whole, kind: .json, detail: "a member's name is written with escapes")
            }
            guard content.count <= 3 else { continue }
            let name = String(decoding: content, as: UTF8.self)
            if name == "kty" { isKey = true }
            if self.privateMembers.contains(name) { isPrivate = true }
        }
        if isKey, isPrivate { throw .privateKey(.whole, form: "JSON Web Key") }
    }

    /// One key. Members that RFC 7517 does not require to be understood are ignored.
    private static func described(_ key: JSON, _ place: UploadPlace) throws(UploadError) -> Described<KeyFacts> {
        guard let type = key["kty"]?.stringValue else {
            throw .malformed(place, kind: .jsonWebKey, detail: "it has no kty")
        }
        func number(_ name: String, count: Int? = nil) throws(UploadError) -> [UInt8] {
            guard let bytes = key[name]?.stringValue.flatMap(Base64URL.decode), !bytes.isEmpty else {
                throw .malformed(place, kind: .jsonWebKey, detail: "\(name) is not base64url")
            }
            if let count, bytes.count != count {
                throw .malformed(place, kind: .jsonWebKey, detail: "\(name) is not of \(count) bytes")
            }
            return bytes
        }
        let encoding: [UInt8]
        switch (type, key["crv"]?.stringValue) {
        case ("RSA", _):
            let numbers = DERWriter.sequence(
                DERWriter.integer(try number("n")), DERWriter.integer(try number("e")))
            encoding = DERWriter.publicKey(DERWriter.Algorithm.rsa, numbers)
        case ("EC", let name?):
            guard let curve = Self.curves[name] else { throw Self.unknownType(place) }
            let point = try [4] + number("x", count: curve.size) + number("y", count: curve.size)
            encoding = DERWriter.publicKey(DERWriter.Algorithm.ec(curve.identifier), point)
        case ("OKP", "Ed25519"):
            encoding = DERWriter.publicKey(DERWriter.Algorithm.ed25519, try number("x", count: 32))
        case ("OKP", "Ed448"):
            encoding = DERWriter.publicKey(DERWriter.Algorithm.ed448, try number("x", count: 57))
        case ("OKP", "X25519"):
            encoding = DERWriter.publicKey(DERWriter.Algorithm.x25519, try number("x", count: 32))
        case ("OKP", "X448"):
            encoding = DERWriter.publicKey(DERWriter.Algorithm.x448, try number("x", count: 56))
        default:
            throw Self.unknownType(place)
        }
        return try PublicKey.described(encoding[...], place)
    }

    private static func unknownType(_ place: UploadPlace) -> UploadError {
        .unreadableKey(
            place,
            algorithm:
                "a JSON Web Key whose type is not RSA, nor EC on P-256, P-384, P-521 or secp256k1, nor OKP with Ed25519, Ed448, X25519 or X448"
        )
    }

    /// Object identifiers as encoded, and the number of bytes of a coordinate (RFC 7518 section 6.2.1.2, RFC 8812
    /// section 3.1).
    private static let curves: [String: (identifier: [UInt8], size: Int)] = [
        "P-256": ([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07], 32),
        "P-384": ([0x2B, 0x81, 0x04, 0x00, 0x22], 48),
        "P-521": ([0x2B, 0x81, 0x04, 0x00, 0x23], 66),
        "secp256k1": ([0x2B, 0x81, 0x04, 0x00, 0x0A], 32),
    ]
}
