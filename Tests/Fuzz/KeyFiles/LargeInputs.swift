import KeyFiles

/// Uploads of the largest size that are made to take long.
enum LargeInputs {
    static var all: [(name: String, bytes: [UInt8])] {
        let texts = [
            "-----BEGIN ", "-----BEGIN CERTIFICATE-----\n", "-----BEGIN A-----\n-----END A-----\n", "BEGIN ",
            "- BEGIN ",
            "-----BEGIN EC PARAMETERS-----\n-----END EC PARAMETERS-----\n", "-", "-----END ", " ", ";", "\"", "{\"",
            "[",
            "{\"a\":", "MIIB", "M", "sha256/", "sha256 ", "a:", "aa", "pin-sha256=\"\" ", "strict pin-sha256=x ",
            "\\", "\\n", "=", "é", "<",
        ]
        let bytes: [(String, [UInt8])] = [
            ("30 80", [0x30, 0x80]), ("30 84", [0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF]), ("00", [0]), ("ff", [0xFF]),
            ("31 0", [0x31, 0]), ("02 01 00", [2, 1, 0]),
        ]
        let repeated =
            texts.map { (name: "many of \($0.debugDescription)", bytes: Self.fill(Array($0.utf8))) }
            + bytes.map { (name: "many of \($0)", bytes: Self.fill($1)) }
        return repeated
            + bytes.map {
                (name: "a sequence of \($0)", bytes: [0x30, 0x83, 0x0F, 0xFF, 0xFB] + Self.fill($1).dropLast(5))
            }
    }

    private static func fill(_ unit: [UInt8]) -> [UInt8] {
        (0..<Upload.maximumSize).map { unit[$0 % unit.count] }
    }
}
