import Crypto
import Foundation
import PinWire
import Testing

/// The Swift example of the handbook's page on client integration, which is ``PinnedDocument``.
@Suite struct `The example of a client in Swift` {
    private static let signing = Curve25519.Signing.PrivateKey()

    /// A signed document: that of the golden file, with another version where one is given.
    private func token(
        version: Int64 = 42, issuedAt: Int64 = 0, type: String = "pinset+jws",
        change: (inout Document) -> Void = { _ in }
    ) throws -> String {
        var document = try self.golden().document
        document.version = version
        change(&document)
        let issued = try self.golden().issuedAt.adding(seconds: issuedAt)
        let payload = document.payload(issuedAt: issued, expiresAt: issued.adding(seconds: 86_400))
        let header = #"{"alg":"EdDSA","kid":"a key","typ":"\#(type)"}"#
        let input = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(payload))"
        return "\(input).\(Base64URL.encode(Array(try Self.signing.signature(for: Data(input.utf8)))))"
    }

    private func golden() throws -> IssuedDocument {
        try IssuedDocument(payload: try testFile("Golden/document-full.json"))
    }

    private func accept(
        _ token: String, held: IssuedDocument? = nil, app: String = "com.example.app", after: Int64 = 10
    ) throws -> PinnedDocument {
        let golden = try self.golden()
        return try PinnedDocument(
            token: token, keys: ["a key": Self.signing.publicKey], app: try AppID(app), issuer: golden.document.issuer,
            held: held, now: golden.issuedAt.adding(seconds: after))
    }

    @Test func `the example client in Swift accepts what a server signs, fresh and stale`() throws {
        let pinned = try self.accept(try self.token())
        #expect(pinned.issued.document.version == 42 && !pinned.isStale)
        #expect(try self.accept(try self.token(), held: pinned.issued).issued == pinned.issued)
        #expect(try self.accept(try self.token(), after: 86_400).isStale)
        let later = try self.accept(try self.token(version: 43, issuedAt: 1), held: pinned.issued)
        #expect(later.issued.document.version == 43)
    }

    @Test func `the example client in Swift refuses each document that the rules refuse`() throws {
        let token = try self.token()
        let held = try self.accept(token).issued
        #expect(throws: (any Error).self) { try self.accept(String(token.dropLast(4)) + "AAAA") }
        #expect(throws: (any Error).self) { try self.accept(token + "=") }
        #expect(throws: (any Error).self) { try self.accept(try self.token(type: "pinset-evaluated+jws")) }
        #expect(throws: (any Error).self) { try self.accept(token, app: "com.example.other") }
        #expect(throws: (any Error).self) { try self.accept(token, after: -301) }
        #expect(throws: (any Error).self) { try self.accept(try self.token { $0.issuer = "someone else" }) }
        let lower = try self.token(version: 41)
        #expect(throws: PinnedDocument.Refused.self) { try self.accept(lower, held: held) }
        #expect(throws: PinnedDocument.Refused.self) { try self.accept(lower, held: held, after: 86_400) }
        #expect(throws: PinnedDocument.Refused.self) { try self.accept(try self.token { $0.hosts = [] }, held: held) }
        let earlier = try self.token(version: 43, issuedAt: -1)
        #expect(throws: PinnedDocument.Refused.self) { try self.accept(earlier, held: held) }
    }

    @Test func `the example client in Swift is the one that the handbook shows`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let pages = folder.appending(path: "../../Sources/CHandbook/pages").standardizedFileURL
        let page = try String(contentsOf: pages.appending(path: "client-integration.md"), encoding: .utf8)
        let example = try String(contentsOf: folder.appending(path: "ClientExample.swift"), encoding: .utf8)
        #expect(page.contains("```swift\n\(example)```\n"))
    }
}
