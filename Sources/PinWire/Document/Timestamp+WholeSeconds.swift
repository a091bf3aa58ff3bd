extension Timestamp {
    /// The beginning of the instant's second: the precision of documents. The instant itself where that is before the
    /// first instant.
    public var wholeSeconds: Timestamp {
        let rest = self.microseconds % 1_000_000
        let (whole, isBeyond) = self.microseconds.subtractingReportingOverflow(rest < 0 ? rest + 1_000_000 : rest)
        return isBeyond ? self : Timestamp(microseconds: whole)
    }
}
