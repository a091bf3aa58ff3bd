internal import PinWire

/// Why a key must not be used (guard rail G21).
///
/// It does not find keys that Debian's OpenSSL of 2006 to 2008 made: they are known only by lists of hundreds of
/// thousands of fingerprints. It does not look for factors that keys share with other keys either.
enum KeyWeakness {
    /// Every reason, as the end of a sentence that begins with the key.
    ///
    /// - Parameter raw: The raw key, which is the point for EC.
    static func all(of key: KeyFacts, raw: [UInt8], modulus: [UInt8]?, exponent: [UInt8]?) -> [String] {
        var found: [String] = []
        switch key.algorithm {
        case "rsa", "rsa-pss":
            if key.bits < 2048 { found.append("is an RSA key of \(key.bits) bits, and 2048 are the least") }
            let exponent = exponent?.drop { $0 == 0 } ?? []
            if let last = exponent.last {
                if last.isMultiple(of: 2) { found.append("has an even RSA exponent, so it cannot work") }
                if exponent.elementsEqual([1]) { found.append("has the RSA exponent 1, so it protects nothing") }
            } else {
                found.append("has the RSA exponent 0, so it cannot work")
            }
            if let last = modulus?.last, last.isMultiple(of: 2) {
                found.append("has an even RSA modulus, so anyone can factor it")
            }
            if let modulus, ROCA.made(modulus) {
                found.append("was made by a chip with the ROCA defect (CVE-2017-15361), so it can be factored")
            }
        case "ec", "sm2":
            // SEC 1 section 2.3.3. RFC 5480 section 2.2 demands the first form, allows the second and forbids the third.
            let form: String? =
                switch raw.first {
                case 2, 3: "compressed"
                case 6, 7: "hybrid"
                default: nil
                }
            if let form {
                found.append(
                    "has its point in the \(form) form, which Java, Go and others refuse, and whose pin is not that of the same key in the uncompressed form"
                )
            }
        default: break
        }
        if case .nowhere(let reason) = key.acceptance { found.append(reason) }
        return found
    }
}

/// The ROCA defect (CVE-2017-15361): RSA primes of the form k·M + (65537^a mod M), M a product of the first primes.
///
/// A modulus made of two such primes is a power of 65537 modulo M, which only one in some 10^46 of other moduli is.
/// Every key length's M has the first 39 primes, so the test looks for a discrete logarithm modulo each of those, and
/// checks whether all of them can be the same number.
enum ROCA {
    /// The odd ones of the first 39 primes, each with the period of the logarithms modulo it.
    private static let primes: [(prime: Int, order: Int)] = stride(from: 3, through: 167, by: 2).filter { number in
        !stride(from: 3, to: number, by: 2).contains { number.isMultiple(of: $0) }
    }.map { prime in
        var order = 1
        var power = 65537 % prime
        while power != 1 {
            power = power * 65537 % prime
            order += 1
        }
        return (prime, order)
    }

    /// Whether `modulus`, the highest byte first, has the defect.
    static func made(_ modulus: [UInt8]) -> Bool {
        var logarithms: [(value: Int, order: Int)] = []
        for (prime, order) in self.primes {
            let remainder = modulus.reduce(0) { ($0 << 8 | Int($1)) % prime }
            guard let value = self.logarithm(of: remainder, prime) else { return false }
            // Numbers with these remainders exist if and only if each two of them agree (Chinese remainder theorem).
            for other in logarithms {
                let shared = self.greatestCommonDivisor(order, other.order)
                guard value % shared == other.value % shared else { return false }
            }
            logarithms.append((value, order))
        }
        return true
    }

    /// The least `x` with 65537^x = `remainder` modulo `prime`; nil where there is none.
    private static func logarithm(of remainder: Int, _ prime: Int) -> Int? {
        var power = 1
        var exponent = 0
        repeat {
            if power == remainder { return exponent }
            power = power * 65537 % prime
            exponent += 1
        } while power != 1
        return nil
    }

    private static func greatestCommonDivisor(_ left: Int, _ right: Int) -> Int {
        right == 0 ? left : self.greatestCommonDivisor(right, left % right)
    }
}
