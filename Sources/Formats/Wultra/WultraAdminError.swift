/// What somebody is told whose administrative request failed, in the envelope of Wultra's mobile utility server:
/// `{"status":"ERROR","responseObject":{"code","message","violations"}}`.
package struct WultraAdminError: Error, Hashable, Sendable {
    package enum Code: String, CaseIterable, Sendable, Hashable {
        /// The request is well-formed, and the state of the app, or a rule, stands in its way.
        case refused = "APP_EXCEPTION"
        /// The request is not well-formed.
        case malformed = "ERROR_REQUEST"
        case unforeseen = "UNKNOWN_ERROR"
        case unauthenticated = "ERROR_AUTHENTICATION"
        case appNotFound = "APP_NOT_FOUND"
    }

    /// One member or parameter that is not as it must be.
    package struct Violation: Hashable, Sendable {
        package var field: String
        /// What is wrong with it, as the end of a sentence.
        package var hint: String

        package init(field: String, hint: String) {
            self.field = field
            self.hint = hint
        }
    }

    package let code: Code
    /// What is wrong, as a sentence.
    package let message: String
    package let violations: [Violation]

    package init(_ code: Code, _ message: String, violations: [Violation] = []) {
        self.code = code
        self.message = message
        self.violations = violations
    }

    /// A member or parameter is not as it must be.
    package init(_ field: String, _ hint: String) {
        self.init(.malformed, "\(field) \(hint).", violations: [Violation(field: field, hint: hint)])
    }

    /// There is no such app, or none with clients of this kind.
    package static func appNotFound(_ name: String) -> WultraAdminError {
        WultraAdminError(.appNotFound, "There is no app \(name).")
    }

    /// Something came up that is not the request's fault.
    package static let unforeseen = WultraAdminError(.unforeseen, "An unforeseen error came up.")

    /// HTTP's status.
    package var status: Int {
        switch self.code {
        case .refused, .malformed: 400
        case .unauthenticated: 401
        case .appNotFound: 404
        case .unforeseen: 500
        }
    }

    /// The body.
    package var body: [UInt8] {
        let violations = self.violations.map { violation -> OrderedJSON in
            .members(["fieldName": .string(violation.field), "hint": .string(violation.hint)])
        }
        return OrderedJSON.members([
            "status": .string("ERROR"),
            "responseObject": .members([
                "code": .string(self.code.rawValue),
                "message": .string(self.message),
                "violations": violations.isEmpty ? nil : .array(violations),
            ]),
        ]).bytes()
    }
}
