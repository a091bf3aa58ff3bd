import PinWire

/// Strict reading of a request target (RFC 3986, and form encoding for the query).
enum URIDecoding {
    /// The text that `text` spells with percent escapes; nil for a broken escape, or bytes that are not UTF-8 or have more
    /// combining marks in a row than ``StreamSafeText`` allows.
    static func percentDecoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard rest.count >= 2, let high = Self.digit(rest.popFirst()), let low = Self.digit(rest.popFirst())
                else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        return String(streamSafe: bytes)
    }

    /// Refused text besides broken escapes.
    static let notText = "is not UTF-8 with at most \(StreamSafeText.markLimit) combining marks in a row"

    private static func digit(_ byte: UInt8?) -> UInt8? {
        guard let byte, byte < 0x80 else { return nil }
        return Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }

    /// The parameters of a query in the order given; nil where one cannot be decoded.
    static func parameters(_ query: some StringProtocol) -> [(name: String, value: String)]? {
        var parameters: [(String, String)] = []
        for pair in query.split(separator: "&") {
            guard let parameter = Self.parameter(pair) else { return nil }
            parameters.append(parameter)
        }
        return parameters
    }

    /// Those parameters of a query that can be decoded, in the order given.
    static func decodableParameters(_ query: some StringProtocol) -> [(name: String, value: String)] {
        query.split(separator: "&").compactMap { Self.parameter($0) }
    }

    private static func parameter(_ pair: some StringProtocol) -> (name: String, value: String)? {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = Self.percentDecoded(parts[0], plusIsSpace: true),
            let value = Self.percentDecoded(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
        else { return nil }
        return (name, value)
    }
}
