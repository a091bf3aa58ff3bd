import ClientFormats
import Foundation
import PinWire
import Pinning
import Testing

/// What clients of ssl-pinning read.
private struct File: Decodable {
    struct Payload: Decodable { var keys: [Key] }

    struct Key: Decodable {
        var date: String
        var domainName: String
        var expire: Int64
        var fqdn: String
        var key: String
    }

    var payload: Payload
    var signature: String
}

@Suite struct `A file for ssl-pinning` {
    private static let signature = [UInt8](repeating: 0xFB, count: 256)

    private static func file(_ app: RenderedApp) throws -> SSLPinningFile? {
        SSLPinningFile(try app.view(), issuedAt: RenderedApp.now, ttlSeconds: 7200)
    }

    private static func read(_ app: RenderedApp) throws -> [File.Key] {
        let body = try #require(try Self.file(app)).body(signature: Self.signature)
        return try JSONDecoder().decode(File.self, from: Data(body)).payload.keys
    }

    @Test func `an ssl-pinning file has an entry for each pin, the served key's first, in canonical signed bytes`()
        throws
    {
        var app = RenderedApp()
        let (one, two) = (try Pin.imagined("1"), try Pin.imagined("2"))
        try app.add("*.example.com", [(one, .primary), (two, .backup)])
        try app.see(two, at: "*.example.com")
        let file = try #require(try Self.file(app))
        func entry(_ pin: Pin) -> String {
            #"{"date":"2025-10-17T10:40:00Z","domainName":"*.example.com","expire":7200,"fqdn":"example.com","#
                + #""key":"\#(pin.base64)"}"#
        }
        let payload = #"{"keys":[\#(entry(two)),\#(entry(one))]}"#
        #expect(String(decoding: file.signingBytes, as: UTF8.self) == payload)
        #expect(try JSON(parsing: file.signingBytes).canonicalBytes == file.signingBytes)
        let body = String(decoding: file.body(signature: Self.signature), as: UTF8.self)
        #expect(body == #"{"payload":\#(payload),"signature":"\#(Base64.encode(Self.signature))"}"#)
    }

    @Test(
        arguments: [
            (certificate: 1000, pins: 500, seconds: 1000), (certificate: 1000, pins: nil, seconds: 1000),
            (certificate: nil, pins: 500, seconds: 500), (certificate: nil, pins: nil, seconds: 7200),
            // What has passed says nothing.
            (certificate: -1, pins: 500, seconds: 500), (certificate: 0, pins: nil, seconds: 7200),
            (certificate: nil, pins: -1, seconds: 7200),
        ] as [(certificate: Int64?, pins: Int64?, seconds: Int64)])
    func `an ssl-pinning file says for how many seconds a key is valid`(
        certificate: Int64?, pins: Int64?, seconds: Int64
    ) throws {
        var app = RenderedApp()
        try app.add("a.b", [(try .imagined("1"), .primary)])
        if let certificate {
            app.know(
                try CertificateFacts.imagined(
                    "one", key: "1", notAfter: RenderedApp.now.adding(seconds: certificate)))
        }
        app.pinsValidUntil = pins.map { RenderedApp.now.adding(seconds: $0) }
        #expect(try Self.read(app).map(\.expire) == [seconds])
    }

    @Test func `an ssl-pinning file keeps hosts whose pinning is off, and leaves out those left to the app`() throws {
        var app = RenderedApp()
        try app.add("builtin.b", mode: nil)
        try app.add("off.b", mode: .off, [(try .imagined("1"), .primary)])
        try app.add("on.b", [(try .imagined("2"), .primary)])
        app.switchOff()
        #expect(try Self.read(app).map(\.domainName) == ["off.b", "on.b"])
    }

    @Test func `an ssl-pinning file is not made without a key`() throws {
        var app = RenderedApp()
        #expect(try Self.file(app) == nil)
        try app.add("builtin.b", mode: nil)
        #expect(try Self.file(app) == nil)
    }
}
