import HTTPTypes
import Hummingbird
import PinWire

/// Roots of trust for clients: `/client/v1/root.json` and `/client/v1/roots/{version}`.
struct RootRoutes: Sendable {
    let answers: RootAnswers

    var routes: [Route] {
        [
            Route("getRoot", .get, "/client/v1/root.json", surface: .client, access: .everybody) { exchange in
                try self.response(to: exchange, version: nil)
            },
            Route("getRootVersion", .get, "/client/v1/roots/{version}", surface: .client, access: .everybody) {
                exchange in
                let text = exchange.parameters["version"] ?? ""
                let digits =
                    text.hasSuffix(RootOfTrust.fileSuffix) ? text.dropLast(RootOfTrust.fileSuffix.count) : text[...]
                // One spelling of each number: caches keep roots by their paths.
                guard let version = Int64(digits), "\(version)" == digits, (1...JSON.largestInteger).contains(version)
                else {
                    throw Problem(
                        .malformedRequest,
                        "The path parameter `version` must be a whole number from 1 on, or one with \(RootOfTrust.fileSuffix) after it."
                    )
                }
                return try self.response(to: exchange, version: version)
            },
        ]
    }

    private func response(to exchange: Exchange, version: Int64?) throws -> Response {
        guard let answer = try self.answers.answer(version: version) else {
            var problem = Problem(
                .rootUnknown,
                version.map { "There is no root of trust of version \($0)." } ?? "There is no root of trust.")
            // Clients ask for the version after theirs: the next one is to reach them soon.
            problem.headers[.cacheControl] = "public, max-age=60"
            throw problem
        }
        return try answer.response(to: exchange.request)
    }
}
