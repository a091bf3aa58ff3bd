import PinWire

/// The error for a client that gets no pins, in the form of Wultra's mobile utility server 1.x.
///
/// Clients read only the status. The answer is signed like every other one where the challenge is sound and the app is
/// known.
package struct WultraError: Error, Hashable, Sendable {
    /// The values of the member `code`. Wultra's documentation has other names for some; these are those of its code.
    package enum Code: String, CaseIterable, Sendable, Hashable {
        case invalidChallenge = "INVALID_CHALLENGE"
        case appNotFound = "APP_NOT_FOUND"
        case publicKeyNotFound = "PUBLIC_KEY_NOT_FOUND"
        /// A parameter is missing or wrong.
        case malformed = "ERROR_REQUEST"
    }

    package let code: Code
    /// What is wrong, as a sentence.
    package let message: String
    /// The wrong parameter; nil where one is missing, and for other errors.
    package let violation: WultraAdminError.Violation?

    init(_ code: Code, _ message: String, _ violation: WultraAdminError.Violation? = nil) {
        self.code = code
        self.message = message
        self.violation = violation
    }

    /// A parameter is missing.
    package static func missing(_ parameter: String) -> WultraError {
        WultraError(.malformed, "The parameter \(parameter) is required.")
    }

    /// A parameter is wrong.
    ///
    /// - Parameters:
    ///   - field: The name that Wultra's server has for it.
    ///   - hint: What is wrong with it, as a sentence.
    static func malformed(_ field: String, _ value: String, _ hint: String) -> WultraError {
        let violation = WultraAdminError.Violation(
            field: field, value: OrderedJSON(repeating: .string(value)), hint: hint)
        return WultraError(.malformed, "\(field) \(hint).", violation)
    }

    /// There is no such app, or none with clients of this kind.
    package static func appNotFound(_ name: String) -> WultraError {
        WultraError(.appNotFound, "There is no app \(name).")
    }

    /// The app has no key that its answers could be signed with.
    package static func publicKeyNotFound(_ name: String) -> WultraError {
        WultraError(.publicKeyNotFound, "There is no public key of an app \(name).")
    }

    /// HTTP's status.
    package var status: Int {
        switch self.code {
        case .invalidChallenge: 403
        case .appNotFound, .publicKeyNotFound: 404
        case .malformed: 400
        }
    }

    /// The body: JSON with `code` and `message`; for a malformed request in the envelope of ``WultraAdminError``.
    package var body: [UInt8] {
        guard self.code != .malformed else {
            let violations = self.violation.map { [$0] } ?? []
            return WultraAdminError(.malformed, self.message, violations: violations).body
        }
        return OrderedJSON.members(["code": .string(self.code.rawValue), "message": .string(self.message)]).bytes()
    }
}
