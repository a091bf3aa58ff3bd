import NIOPosix
package import PinWire

/// The access token of a service account: fetched when it is needed, and kept until shortly before its end.
package actor AccessTokens {
    private let account: ServiceAccount
    private let http: FirebaseHTTP
    private let clock: @Sendable () -> Timestamp
    private var token: (text: String, end: Timestamp)?

    /// A token is replaced this many seconds before its end: clocks differ, and a request takes time.
    private static let margin: Int64 = 300

    package init(account: ServiceAccount, http: FirebaseHTTP, clock: @escaping @Sendable () -> Timestamp) {
        self.account = account
        self.http = http
        self.clock = clock
    }

    /// A token that is valid for at least some minutes.
    ///
    /// - Parameter refused: A token that was refused, and is not returned again.
    package func token(insteadOf refused: String? = nil) async throws(FirebaseFailure) -> String {
        let now = self.clock()
        if let token, token.text != refused, now < token.end { return token.text }
        self.token = nil
        let fetched = try await self.fetch(at: now)
        self.token = fetched
        return fetched.text
    }

    private func fetch(at now: Timestamp) async throws(FirebaseFailure) -> (text: String, end: Timestamp) {
        let account = self.account
        let assertion: String
        do { assertion = try await NIOThreadPool.singleton.runIfActive { try account.assertion(at: now) } } catch {
            throw .unexpected("\(error)")
        }
        // Neither a JWT nor the name of the grant, its colons escaped, has a character that needs another escape in
        // forms.
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        let answer = try await self.http.send(
            "POST", account.tokenURL, fields: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.utf8))
        switch answer.status {
        case 200: break
        case 400, 401, 403: throw .unauthenticated(FirebaseHTTP.detail(answer))
        case 429, 500...:
            throw .busy(status: answer.status, detail: FirebaseHTTP.detail(answer), seconds: answer.retryAfter)
        default: throw .unexpected("the token's endpoint answers \(answer.status)")
        }
        guard let json = try? JSON(parsing: answer.body), let text = json["access_token"]?.stringValue, !text.isEmpty,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .unexpected("the token's endpoint answers without a token") }
        let seconds = min(max(json["expires_in"]?.integerValue ?? 0, 0), 86_400)
        return (text, now.adding(seconds: seconds - Self.margin))
    }
}
