/// Decodes A-labels (RFC 3492), as far as needed to tell a real A-label from an invented one.
enum Punycode {
    /// Whether `digits`, the part of a label after `xn--`, stands for a name in its one spelling.
    ///
    /// A text that decodes has only one spelling, so it remains to check that no character would have been mapped to
    /// another (an upper-case letter, a soft hyphen: UTS 46) and that the label does not begin with a combining mark.
    static func isCanonical(_ digits: ArraySlice<UInt8>) -> Bool {
        guard let scalars = self.decode(digits), let first = scalars.first else { return false }
        switch first.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return false
        default: break
        }
        return scalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .privateUse, .surrogate, .spaceSeparator, .lineSeparator, .paragraphSeparator: false
            // Sharp s and final sigma are letters of their own since IDNA 2008.
            default: !scalar.properties.changesWhenNFKCCaseFolded || scalar == "ß" || scalar == "ς"
            }
        }
    }

    /// RFC 3492 section 6.2; nil unless the result has at least one character beyond ASCII.
    static func decode(_ digits: ArraySlice<UInt8>) -> [Unicode.Scalar]? {
        let hyphen = digits.lastIndex(of: UInt8(ascii: "-"))
        // A label's basic characters stand before the last hyphen; without any, there is no hyphen.
        if hyphen == digits.startIndex { return nil }
        var output = digits[..<(hyphen ?? digits.startIndex)].map { Unicode.Scalar($0) }
        let encoded = digits[(hyphen.map { $0 + 1 } ?? digits.startIndex)...]
        guard !encoded.isEmpty else { return nil }

        var codePoint = 128
        var place = 0
        var bias = 72
        var rest = encoded
        while !rest.isEmpty {
            let before = place
            var weight = 1
            var threshold = 0
            var step = 36
            while true {
                guard let digit = rest.popFirst().flatMap(Self.value) else { return nil }
                place += digit * weight
                // No code point at any position of a label is near this limit.
                guard place < 1 << 32 else { return nil }
                threshold = min(max(step - bias, 1), 26)
                if digit < threshold { break }
                weight *= 36 - threshold
                step += 36
                guard weight < 1 << 32 else { return nil }
            }
            let count = output.count + 1
            bias = Self.adapted(delta: place - before, count: count, isFirst: before == 0)
            codePoint += place / count
            place %= count
            guard let scalar = UInt32(exactly: codePoint).flatMap(Unicode.Scalar.init) else { return nil }
            output.insert(scalar, at: place)
            place += 1
        }
        return output
    }

    /// A name in lower-case A-labels; nil where that takes more than the case of letters: an advice must not be wrong.
    ///
    /// - Parameter name: At most 255 bytes; each label costs the square of its length.
    static func aLabels(_ name: String) -> String? {
        var labels: [String] = []
        for label in name.lowercased().split(separator: ".", omittingEmptySubsequences: false) {
            if label.utf8.allSatisfy({ $0 < 0x80 }) {
                labels.append(String(label))
                continue
            }
            let scalars = Array(label.unicodeScalars)
            guard scalars.allSatisfy({ $0 == "-" || $0.properties.isAlphabetic || $0.properties.numericType != nil }),
                scalars.allSatisfy({ $0.properties.canonicalCombiningClass == .notReordered })
            else { return nil }
            let digits = self.encode(scalars)
            guard self.isCanonical(digits[...]), digits.count <= 59 else { return nil }
            labels.append("xn--" + String(decoding: digits, as: UTF8.self))
        }
        return labels.joined(separator: ".")
    }

    /// RFC 3492 section 6.3, of a label with at least one character beyond ASCII.
    private static func encode(_ scalars: [Unicode.Scalar]) -> [UInt8] {
        var output = scalars.filter(\.isASCII).map { UInt8($0.value) }
        let basicCount = output.count
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var codePoint = 128
        var delta = 0
        var bias = 72
        var done = basicCount
        while done < scalars.count {
            guard let next = scalars.map({ Int($0.value) }).filter({ $0 >= codePoint }).min() else { break }
            delta += (next - codePoint) * (done + 1)
            codePoint = next
            for scalar in scalars {
                let value = Int(scalar.value)
                if value < codePoint { delta += 1 }
                guard value == codePoint else { continue }
                var rest = delta
                var step = 36
                while true {
                    let threshold = min(max(step - bias, 1), 26)
                    if rest < threshold { break }
                    output.append(self.digit(threshold + (rest - threshold) % (36 - threshold)))
                    rest = (rest - threshold) / (36 - threshold)
                    step += 36
                }
                output.append(self.digit(rest))
                bias = self.adapted(delta: delta, count: done + 1, isFirst: done == basicCount)
                delta = 0
                done += 1
            }
            delta += 1
            codePoint += 1
        }
        return output
    }

    private static func digit(_ value: Int) -> UInt8 {
        UInt8(value < 26 ? Int(UInt8(ascii: "a")) + value : Int(UInt8(ascii: "0")) + value - 26)
    }

    private static func value(_ digit: UInt8) -> Int? {
        switch digit {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit - UInt8(ascii: "a"))
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit - UInt8(ascii: "0")) + 26
        default: nil
        }
    }

    private static func adapted(delta: Int, count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var step = 0
        while delta > 455 {
            delta /= 35
            step += 36
        }
        return step + 36 * delta / (delta + 38)
    }
}
