import HTTPTypes

/// Problems whose cause is the request itself: its form, or a name in it that nothing has. No right and no rule refused it.
///
/// A name that may belong to something hidden from the caller is none of these: the record does not tell.
package enum RequestMistake {
    /// True for the name of such a problem; false for a name that only a later server knows.
    package static func isOne(_ problem: String) -> Bool {
        ProblemType(rawValue: problem).map(\.isMistake) ?? false
    }
}

extension ProblemType {
    fileprivate var isMistake: Bool {
        switch self {
        case .malformedRequest, .malformedJSON, .invalidValue, .unknownParameter, .invalidCursor, .positionAhead,
            .methodNotAllowed, .bodyTooLarge, .headersTooLarge, .unsupportedMediaType, .notAcceptable, .eventTooLarge,
            .pinPlaceholder, .invalidExpiry, .reasonRequired, .uploadRefused, .nothingToExport:
            true
        // Names that may be hidden from the caller, and are then answered like those that nothing has.
        case .changeUnknown, .tokenUnknown, .grantUnknown, .approvalRuleUnknown, .freezeUnknown: false
        default: self.entry.status == .notFound
        }
    }
}
