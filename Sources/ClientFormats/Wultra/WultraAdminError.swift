import PinWire

/// The error of an administrative request, in the envelope of Wultra's mobile utility server:
/// `{"status":"ERROR","responseObject":{"code","message","violations"}}`.
package struct WultraAdminError: Error, Hashable, Sendable {
    package enum Code: String, CaseIterable, Sendable, Hashable {
        /// The request is well-formed, and the state of the app, or a rule, refuses it.
        case refused = "APP_EXCEPTION"
        /// The request is not well-formed.
        case malformed = "ERROR_REQUEST"
        case unforeseen = "INTERNAL_ERROR"
        case unauthenticated = "ERROR_AUTHENTICATION"
        case appNotFound = "APP_NOT_FOUND"
        /// There is nothing at the path.
        case notFound = "ERROR_NOT_FOUND"
    }

    /// One wrong member or parameter.
    package struct Violation: Hashable, Sendable {
        package var field: String
        /// The request's value; nil where it is missing, or must not be repeated.
        package var value: OrderedJSON?
        /// What is wrong with it, as the end of a sentence.
        package var hint: String

        package init(field: String, value: OrderedJSON? = nil, hint: String) {
            self.field = field
            self.value = value
            self.hint = hint
        }

        fileprivate var json: OrderedJSON {
            .members([
                "fieldName": .string(self.field), "invalidValue": self.value, "hint": .string(self.hint),
            ])
        }
    }

    package let code: Code
    /// What is wrong, as a sentence.
    package let message: String
    package let violations: [Violation]
    /// Whether the member `violations` is there although it is empty.
    private let listsViolations: Bool

    package init(_ code: Code, _ message: String, violations: [Violation] = []) {
        self.init(code, message, violations: violations, listsViolations: !violations.isEmpty)
    }

    private init(_ code: Code, _ message: String, violations: [Violation], listsViolations: Bool) {
        self.code = code
        self.message = message
        self.violations = violations
        self.listsViolations = listsViolations
    }

    /// A member or parameter is wrong.
    ///
    /// - Parameter value: Its value.
    package init(_ field: String, _ hint: String, value: OrderedJSON? = nil) {
        self.init(.malformed, "\(field) \(hint).", violations: [Violation(field: field, value: value, hint: hint)])
    }

    /// The request is well-formed, and an object that it names is missing, or exists already: Wultra's server counts
    /// that as malformed, without a violation.
    package static func unmet(_ message: String) -> WultraAdminError {
        WultraAdminError(.malformed, message, violations: [], listsViolations: true)
    }

    /// There is no such app, or none with clients of this kind.
    package static func appNotFound(_ name: String) -> WultraAdminError {
        WultraAdminError(.appNotFound, "There is no app \(name).")
    }

    /// An error that is not the request's fault.
    package static let unforeseen = WultraAdminError(.unforeseen, "An unexpected error occurred.")

    /// HTTP's status.
    package var status: Int {
        switch self.code {
        case .refused, .malformed: 400
        case .unauthenticated: 401
        case .appNotFound, .notFound: 404
        case .unforeseen: 500
        }
    }

    /// The body.
    package var body: [UInt8] {
        OrderedJSON.members([
            "status": .string("ERROR"),
            "responseObject": .members([
                "code": .string(self.code.rawValue),
                "message": .string(self.message),
                "violations": self.listsViolations ? .array(self.violations.map(\.json)) : nil,
            ]),
        ]).bytes()
    }
}

extension OrderedJSON {
    /// The most bytes of a text that are repeated to its sender.
    private static let repeatedLimit = 255

    /// The values of a request that an error repeats: short texts, whole numbers, truth values.
    init?(repeating json: JSON?) {
        switch json {
        case .string(let text)? where text.utf8.count <= Self.repeatedLimit: self = .string(text)
        case .integer(let number)?: self = .integer(number)
        case .bool(let flag)?: self = .bool(flag)
        default: return nil
        }
    }
}
