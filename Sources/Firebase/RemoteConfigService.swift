import PinWire

/// The client template of a Firebase project, by the REST API v1.
package struct RemoteConfigService: RemoteConfigStore {
    package let project: String
    private let endpoint: FirebaseEndpoint
    private let tokens: AccessTokens
    private let http: FirebaseHTTP

    package init(project: String, endpoint: FirebaseEndpoint, tokens: AccessTokens, http: FirebaseHTTP) {
        self.project = project
        self.endpoint = endpoint
        self.tokens = tokens
        self.http = http
    }

    private var url: String { "\(self.endpoint.base)/v1/projects/\(self.project)/remoteConfig" }

    package func get() async throws(FirebaseFailure) -> StoredTemplate {
        let answer = try await self.send("GET", self.url, [])
        guard let etag = answer.etag else { throw .unexpected("the template has no ETag") }
        return StoredTemplate(text: answer.body, etag: etag)
    }

    package func validate(_ text: [UInt8], over etag: String) async throws(FirebaseFailure) {
        // The ETag of a validation's answer, which belongs to no stored template.
        _ = try await self.send("PUT", "\(self.url)?validateOnly=true", [("If-Match", etag)], text)
    }

    package func put(_ text: [UInt8], over etag: String) async throws(FirebaseFailure) -> StoredTemplate {
        let answer = try await self.send("PUT", self.url, [("If-Match", etag)], text)
        guard let etag = answer.etag else { throw .unexpected("the new template has no ETag") }
        return StoredTemplate(text: answer.body, etag: etag)
    }

    /// Sends a request, with a new token where the present one is no longer accepted.
    private func send(
        _ method: String, _ url: String, _ fields: [(name: String, value: String)], _ body: [UInt8]? = nil
    ) async throws(FirebaseFailure) -> FirebaseHTTP.Answer {
        let token = try await self.tokens.token()
        var answer = try await self.exchange(method, url, fields, body, token)
        if answer.status == 401 {
            let next = try await self.tokens.token(insteadOf: token)
            answer = try await self.exchange(method, url, fields, body, next)
        }
        if answer.status == 200 { return answer }
        let detail = FirebaseHTTP.detail(answer)
        switch answer.status {
        case 400: throw .invalid(detail)
        case 401: throw .unauthenticated(detail)
        case 403: throw .forbidden(detail)
        case 404: throw .projectUnknown(detail)
        case 412: throw .overtaken
        // A concurrent write may also get this answer.
        case 409: throw .overtaken
        case 429, 500...: throw .busy(status: answer.status, detail: detail, seconds: answer.retryAfter)
        default: throw .unexpected("status \(answer.status)")
        }
    }

    private func exchange(
        _ method: String, _ url: String, _ fields: [(name: String, value: String)], _ body: [UInt8]?, _ token: String
    ) async throws(FirebaseFailure) -> FirebaseHTTP.Answer {
        var fields = fields + [("Authorization", "Bearer \(token)")]
        if body != nil { fields.append(("Content-Type", "application/json; charset=UTF-8")) }
        return try await self.http.send(method, url, fields: fields, body: body)
    }
}
