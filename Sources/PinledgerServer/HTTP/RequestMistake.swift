import HTTPTypes

/// Problems whose cause is the request itself: its form, or a name in it that nothing has. No right and no rule refused it.
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
        // A proposed change is hidden from those who may not see it, and no one else's record tells.
        case .changeUnknown: false
        default: self.entry.status == .notFound
        }
    }
}
