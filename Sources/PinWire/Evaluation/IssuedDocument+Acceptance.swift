extension IssuedDocument {
    /// How far `iat` may lie ahead of a reader's clock, in seconds: clocks of servers and readers differ by that much.
    package static let clockSkew: Int64 = 300

    /// Why a reader must not use a document although it is signed and well-formed.
    package enum Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// `aud` names another app than the reader's.
        case otherApp(AppID, wanted: AppID)
        /// `iat` lies more than ``IssuedDocument/clockSkew`` ahead.
        case issuedAhead(Timestamp)
        /// `exp` is not after `iat`.
        case neverFresh
        /// `exp` has passed.
        case expired(Timestamp)
        /// The reader has, or wants, a later version.
        case older(Int64, wanted: Int64)

        package var description: String {
            switch self {
            case .otherApp(let app, let wanted): "the document is for \(app), not for \(wanted)"
            case .issuedAhead(let time):
                "the document was issued at \(time), more than \(IssuedDocument.clockSkew) s ahead of this clock"
            case .neverFresh: "the document expires before it is issued"
            case .expired(let time): "the document is no longer fresh: it was until \(time)"
            case .older(let version, let wanted):
                "the document has version \(version), and at least \(wanted) is wanted"
            }
        }
    }

    /// Compares the document with the reader's own app, clock and memory: `aud`, `iat`, `exp` and `version`.
    ///
    /// - Parameters:
    ///   - app: The reader's app.
    ///   - now: The reader's time.
    ///   - version: The highest version that the reader has accepted before, or knows of; 0 where it knows of none.
    package func check(for app: AppID, at now: Timestamp, atLeast version: Int64 = 0) throws(Refusal) {
        guard self.document.app == app else { throw .otherApp(self.document.app, wanted: app) }
        guard self.issuedAt < self.expiresAt else { throw .neverFresh }
        guard self.issuedAt <= now.adding(seconds: Self.clockSkew) else { throw .issuedAhead(self.issuedAt) }
        guard now < self.expiresAt else { throw .expired(self.expiresAt) }
        guard self.document.version >= version else { throw .older(self.document.version, wanted: version) }
    }
}
