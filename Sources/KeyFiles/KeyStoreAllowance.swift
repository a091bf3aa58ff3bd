/// The work that may be spent on the passwords of PKCS#12 files, of one upload or of several that came together.
package struct KeyStoreAllowance: Hashable, Sendable {
    /// The rounds of hashing for one password: some seconds. Programs write files with 2,000 to 600,000 rounds for each
    /// of two or three parts.
    static let iterations = 2_000_000

    /// The rounds that are left.
    private var remaining = Self.iterations

    package init() {}

    /// Takes rounds away; where too few are left, it takes none and returns false.
    mutating func spend(_ count: Int) -> Bool {
        guard count <= self.remaining else { return false }
        self.remaining -= count
        return true
    }
}
