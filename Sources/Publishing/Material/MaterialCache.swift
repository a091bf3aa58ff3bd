/// Keys and certificates in DER that were asked for lately, and digests that were asked for in vain.
struct MaterialCache: Sendable {
    private var known: [[UInt8]: [UInt8]] = [:]
    /// What was not there, and until when nobody looks again.
    private var missing: [[UInt8]: ContinuousClock.Instant] = [:]
    /// Until when nobody asks who can do without: the database gave no answer.
    private var silentUntil: ContinuousClock.Instant?
    /// The bytes of ``known``, with what an entry takes besides.
    private var size = 0
    private let limit: Int

    /// What an entry takes besides its bytes.
    static let overhead = 160
    /// Digests that are remembered as missing.
    static let missingLimit = 50_000
    /// For how long they are: another node may be given them at any time. For so long, too, the database is left alone
    /// that gave no answer.
    static let missingTime = Duration.seconds(5)

    /// - Parameter limit: Bytes that are kept; past this all begins anew.
    init(limit: Int) {
        self.limit = limit
    }

    /// What is known of some digests, and those that somebody has to look for.
    func find(
        _ digests: some Sequence<[UInt8]>, at now: ContinuousClock.Instant
    ) -> (found: [[UInt8]: [UInt8]], unknown: [[UInt8]]) {
        var found: [[UInt8]: [UInt8]] = [:]
        var unknown: [[UInt8]] = []
        for digest in digests {
            if let der = self.known[digest] {
                found[digest] = der
            } else if self.missing[digest].map({ $0 <= now }) ?? true {
                unknown.append(digest)
            }
        }
        return (found, unknown)
    }

    /// Takes what was found or has been stored.
    mutating func take(_ material: some Sequence<(key: [UInt8], value: [UInt8])>) {
        for (digest, der) in material {
            self.missing[digest] = nil
            let size = der.count + Self.overhead
            guard self.known[digest] == nil, size <= self.limit else { continue }
            if self.size + size > self.limit { (self.known, self.size) = ([:], 0) }
            self.known[digest] = der
            self.size += size
        }
    }

    /// Takes digests that are not there.
    mutating func takeMissing(_ digests: some Collection<[UInt8]>, at now: ContinuousClock.Instant) {
        if self.missing.count + digests.count > Self.missingLimit { self.missing = [:] }
        for digest in digests.prefix(Self.missingLimit) { self.missing[digest] = now + Self.missingTime }
    }

    /// Whether the database gave no answer lately.
    func isSilent(at now: ContinuousClock.Instant) -> Bool { self.silentUntil.map { now < $0 } ?? false }

    /// Takes in that it gave none.
    mutating func takeSilence(at now: ContinuousClock.Instant) { self.silentUntil = now + Self.missingTime }
}
