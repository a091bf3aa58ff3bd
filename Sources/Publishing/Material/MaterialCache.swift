import Concurrency

/// Keys and certificates in DER that were asked for lately, and digests that were asked for in vain.
struct MaterialCache: Sendable {
    private var known: BoundedCache<[UInt8], [UInt8]>
    /// What was not there, and until when nobody looks again.
    private var missing: [[UInt8]: ContinuousClock.Instant] = [:]
    /// Until when callers that can do without do not ask: the database gave no answer.
    private var silentUntil: ContinuousClock.Instant?
    private let limit: Int

    /// The overhead of an entry beside its bytes.
    static let overhead = 160
    /// The most digests that are remembered as missing.
    static let missingLimit = 50_000
    /// How long they are remembered: another node may store them at any time. A database that gave no answer is left
    /// alone for as long.
    static let missingTime = Duration.seconds(5)

    /// - Parameter limit: Bytes that are kept; past this, those go that were taken in first.
    init(limit: Int) {
        self.limit = limit
        self.known = BoundedCache(bytes: limit)
    }

    /// The known bytes of some digests, and the digests to look for.
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

    /// Takes bytes that were found or have been stored.
    mutating func take(_ material: some Sequence<(key: [UInt8], value: [UInt8])>) {
        for (digest, der) in material {
            self.missing[digest] = nil
            let size = der.count + Self.overhead
            guard self.known[digest] == nil, size <= self.limit else { continue }
            self.known.keep(der, for: digest, size: size)
        }
    }

    /// Takes digests that are not there.
    mutating func takeMissing(_ digests: some Collection<[UInt8]>, at now: ContinuousClock.Instant) {
        if self.missing.count + digests.count > Self.missingLimit { self.missing = [:] }
        for digest in digests.prefix(Self.missingLimit) { self.missing[digest] = now + Self.missingTime }
    }

    /// Whether the database gave no answer lately.
    func isSilent(at now: ContinuousClock.Instant) -> Bool { self.silentUntil.map { now < $0 } ?? false }

    /// Records that the database gave no answer.
    mutating func takeSilence(at now: ContinuousClock.Instant) { self.silentUntil = now + Self.missingTime }
}
