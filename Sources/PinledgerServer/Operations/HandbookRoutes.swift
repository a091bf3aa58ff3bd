import HTTPTypes
import Handbook
import PinWire
import Publishing
import Synchronization

/// The handbook: pages for people, as HTML that loads nothing.
struct HandbookRoutes: Sendable {
    private static let index = Self.answer(HandbookHTML.index)
    private let pages = Pages()

    var routes: [Route] {
        [
            Route(
                "listHandbookPages", .get, "/handbook", surface: .both, access: .everybody, isPrepared: true,
                needsNoLedger: true
            ) {
                try Self.index.response(to: $0.request)
            },
            Route(
                "getHandbookPage", .get, "/handbook/{page}", surface: .both, access: .everybody, isPrepared: true,
                needsNoLedger: true
            ) { exchange in
                let name = exchange.parameters["page"] ?? ""
                guard let answer = self.pages.answer(name) else {
                    throw Problem(.notFound, "The handbook has no page \(name.printable); /handbook lists the pages.")
                }
                return try answer.response(to: exchange.request)
            },
            Route(
                "getClientIntegration", .get, "/client-integration.md", surface: .both, access: .everybody,
                isPrepared: true, needsNoLedger: true
            ) {
                try Self.clientIntegration.response(to: $0.request)
            },
        ]
    }

    private static let clientIntegration = PreparedAnswer(
        contentType: "text/markdown; charset=utf-8", cacheControl: Self.cacheControl,
        body: PreparedBody(Handbook.page("client-integration")?.markdown ?? [])
    )
    private static let cacheControl = "public, max-age=300"

    /// Nothing may run, load, frame or be submitted; the one style is allowed by its hash.
    private static let securityPolicy =
        "default-src 'none'; style-src 'sha256-\(Base64.encode(sha256(Array(HandbookHTML.style.utf8))))'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private static func answer(_ html: String) -> PreparedAnswer {
        PreparedAnswer(
            contentType: "text/html; charset=utf-8", cacheControl: Self.cacheControl,
            body: PreparedBody(Array(html.utf8)), securityPolicy: Self.securityPolicy)
    }

    /// The pages that were asked for so far: at most one answer for each page there is.
    private final class Pages: Sendable {
        private let answers = Mutex<[String: PreparedAnswer]>([:])

        func answer(_ name: String) -> PreparedAnswer? {
            if let answer = self.answers.withLock({ $0[name] }) { return answer }
            guard let page = Handbook.page(name) else { return nil }
            // Outside the lock. Two requests at once convert the same page twice, and one result stays.
            let made = HandbookRoutes.answer(HandbookHTML.document(page))
            return self.answers.withLock { answers in
                if let answer = answers[name] { return answer }
                answers[name] = made
                return made
            }
        }
    }
}
