import NIOCore
import PinWire

@testable import PinledgerServer
@testable import Publishing

/// Documents of several sizes, which clients of ``ExampleServer`` can fetch.
enum ExampleDocuments {
    /// Bytes: copied whole, sent as they lie there, more than a frame has, more than a window takes.
    private static let sizes = [700, 10_000, 40_000, 80_000]

    static let targets = sizes.map { "/client/v1/apps/com.example.bytes\($0)/document" }

    /// The answers, with every coding made; and the tags that clients may have.
    static let answers: (prepared: PreparedAnswers, tags: [String]) = {
        let documents = Self.sizes.compactMap { size -> PublishedDocument? in
            guard let app = try? AppID("com.example.bytes\(size)") else { return nil }
            // It can be compressed, but not to nothing.
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: 0x61 + ($0 &* $0 >> 7) % 23) }
            let body = PreparedBody(bytes)
            _ = body.representations
            return PublishedDocument(
                app: app, version: 1, position: 1, contentDigest: [UInt8](repeating: 1, count: 32),
                issuedAt: Timestamp(seconds: 1_799_999_000), expiresAt: Timestamp(seconds: 1_800_009_000), keyID: "key",
                body: body)
        }
        ExampleServer.documents.put(documents)
        return (
            ExampleServer.routes.answers,
            documents.flatMap { document in ContentCoding.allCases.map { document.body.tag(in: $0) } }
        )
    }()
}
