/// What a client is told that gets no pins, as Wultra's mobile utility server 1.x answers it.
///
/// Clients look at the status alone. The answer is signed as every other one where the challenge is sound and the app
/// is known.
package struct WultraError: Error, Hashable, Sendable {
    /// What the member `code` says. Wultra's documentation has other names for some; these are those of its code.
    package enum Code: String, CaseIterable, Sendable, Hashable {
        case invalidChallenge = "INVALID_CHALLENGE"
        case appNotFound = "APP_NOT_FOUND"
        case publicKeyNotFound = "PUBLIC_KEY_NOT_FOUND"
        case unknown = "UNKNOWN_ERROR"
    }

    package let code: Code
    /// What is wrong, as a sentence.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
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
        case .unknown: 400
        }
    }

    /// The body: JSON with `code` and `message`.
    package var body: [UInt8] {
        OrderedJSON.members(["code": .string(self.code.rawValue), "message": .string(self.message)]).bytes()
    }
}
