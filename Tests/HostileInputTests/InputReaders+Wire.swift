import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP1
import PinWire
import Pinning
import Publishing
import Signals
import Testing
import Traces

@testable import Keys
@testable import PinledgerServer

extension InputReader {
    private static let percentEncoded: @Sendable ([UInt8]) -> [UInt8] = { text in
        // As long as what is decoded, not three times.
        text.prefix(text.count / 3).flatMap { Array("%\(Hex.encode([$0]))".utf8) }
    }

    private static let outcome = #"{"host":"api.example.com","outcome":"failure","reason":"pin_mismatch""#

    /// What clients and operators send.
    static let wire: [InputReader] = [
        InputReader(
            "a batch of reports",
            seeds: [
                #"{"install":"3q2-7wAAAAAAAAAAAAAAAA","app_version":"3.1.2","outcomes":["# + outcome
                    + #","count":3,"time":"2026-01-31T12:00:00Z","id":"a","served_spki":[]}]}"#,
                #"{"outcomes":[{"host":"A.example.com.","outcome":"success","count":1e2,"x":[{},null,true,-1.5]}]}"#,
            ],
            frames: [
                Frame(#"{""#, #"":1,"outcomes":[]}"#), Frame(#"{"outcomes":[{""#, #"":1}]}"#),
                Frame(#"{"outcomes":[{"host":""#, #""}]}"#), Frame(#"{"outcomes":[{"id":""#, #""}]}"#),
                Frame(#"{"platform":""#, #"","outcomes":[]}"#), Frame(#"{"outcomes":["#, "]}"), Frame(),
            ],
            read: { use(try ReportBatch(parsing: $0)) }),
        InputReader(
            "a place in a trace",
            seeds: [
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            ],
            frames: [Frame("00-", "-01"), Frame("00-4bf92f3577b34da6a3ce929d0e0e4736-", ""), Frame()],
            read: { input in
                let text = String(decoding: input, as: UTF8.self)
                use(TraceContext(parent: text, state: text)?.parent ?? "")
            }),
        InputReader(
            "a report of another library",
            seeds: [
                #"{"hostname":"api.example.com","validation-result":1,"app-version":"1.2","#
                    + #""date-time":"2026-01-31T12:00:00+0100","#
                    + #""app-vendor-id":"x","enforce-pinning":true,"served-certificate-chain":["x"]}"#
            ],
            frames: [
                Frame(#"{"hostname":""#, #""}"#), Frame(#"{"hostname":"a.b","app-vendor-id":""#, #""}"#),
                Frame(#"{"hostname":"a.b","date-time":""#, #""}"#), Frame(#"{""#, #"":1}"#),
            ],
            read: { use(try ForeignReport(JSON(parsing: $0, limits: ForeignReport.limits))) }),
        InputReader(
            "a body of JSON",
            seeds: [
                #"{"app":"com.example.app","a":[1,2.5,-0,1e3,"\u00e9\ud83d\ude00\n",{"b":null}],"reason":"é"}"#,
                #"["2026-01-31T12:00:00Z","sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=","#
                    + #""1.2.3-rc.1+5","*.example.com"]"#,
            ],
            frames: [
                Frame(#"{""#, #"":1}"#), Frame(#"{"a":""#, #""}"#), Frame(#"[""#, #""]"#), Frame(),
                Frame("[", "]"), Frame(#"{"a":"#, "}"), Frame(#"{"a":1,"a"#, #"":1,"b":2}"#),
            ],
            read: { input in
                let json = try JSON(parsing: input)
                use(json == JSON.string("x"), json.canonicalBytes, Set([json, .null]))
                for (name, value) in json.objectValue ?? [:] {
                    handle(name)
                    if let text = value.stringValue { Self.parse(text) }
                }
                for value in json.arrayValue ?? [] { if let text = value.stringValue { Self.parse(text) } }
                _ = try JSONField(json).object { (members) throws(JSONDefect) in
                    use(members.optional("x"), members.mentions("y"))
                }
            }),
        InputReader(
            "a request's target",
            seeds: [
                "/v1/apps/com.example.app/hosts/api.example.com?limit=10&cursor=eyJrIjoiMSJ9",
                "/client/v1/apps/a/evaluated?device_id=%C3%A9&app_version=1.2%2B3&build=5&country=DE",
            ],
            frames: [
                Frame("/v1/apps/"), Frame("/v1/apps?cursor="), Frame("/v1/apps?", "=1"), Frame("/"),
                Frame("/v1/apps/", encode: percentEncoded), Frame("/v1/apps?a=", encode: percentEncoded),
            ],
            read: { input in
                let target = RequestText.target(String(decoding: input, as: UTF8.self))
                let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
                // No route has more parts, or more parameters.
                for segment in parts[0].split(separator: "/").prefix(20) {
                    if let text = URIDecoding.percentDecoded(segment) { Self.parse(text) }
                }
                guard parts.count > 1 else { return }
                for (name, value) in URIDecoding.decodableParameters(parts[1]).prefix(20) {
                    handle(name)
                    Self.parse(value)
                }
                use(EvaluatedQuery.plain(Array(parts[1].utf8)))
            }),
        InputReader(
            "a field of a request",
            seeds: [
                #"W/"a", "b""#, "br;q=0.5, gzip, *;q=0", #"version=12, platform=ios, app_version="2.4.1", install="x""#,
                #"keyid="k", time=1769860800, mac=:AAAA:"#, "10.0.0.1, [::1]:80", "Bearer pk_admin_x", "Basic eDp5",
                "application/json; charset=utf-8", #""12""#, "de-CH, de;q=0.9",
            ],
            frames: [
                Frame(), Frame("\""), Frame("\"", "\""), Frame("br;q="), Frame("version=1, app_version=\"", "\""),
            ],
            read: { input in
                guard let (_, value) = RequestText.field("if-none-match", String(decoding: input, as: UTF8.self)) else {
                    return
                }
                handle(value)
                use(
                    ConditionalRequest.noneMatch(value, names: ["\"a\"", "\"b\""]), CodingPreference(value),
                    ClientReport(field: value), ReportSignature(field: value), value.printable,
                    value.trimmingCharacters(),
                    try? APIToken(parsing: value))
            }),
        InputReader(
            "a request over HTTP/1.1",
            seeds: [
                "GET /client/v1/apps/a/document HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"x\"\r\n\r\n",
                "POST /v1/apps HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close, x\r\n\r\n"
                    + "3\r\nabc\r\n0\r\n\r\n",
            ],
            frames: [
                Frame("GET /", " HTTP/1.1\r\nHost: a\r\n\r\n"), Frame("GET / HTTP/1.1\r\nHost: ", "\r\n\r\n"),
                Frame("GET / HTTP/1.1\r\nHost: a\r\nConnection: ", "\r\n\r\n"),
                Frame("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ", "\r\n\r\n"), Frame(),
            ],
            read: { input in
                input.withUnsafeBytes { use(HeadReader.read($0)) }
                let channel = EmbeddedChannel(handler: ByteToMessageHandler(HTTPRequestDecoder()))
                defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
                try channel.writeInbound(ByteBuffer(bytes: input))
                while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
                    guard case .head(let head) = part else { continue }
                    let plain = head.inASCII
                    #expect(plain.uri.isASCII && plain.headers.allSatisfy { $0.name.isASCII && $0.value.isASCII })
                    use(plain.headers[canonicalForm: "Connection"], plain.isKeepAlive)
                    for (name, value) in plain.headers {
                        handle(name)
                        handle(value)
                    }
                }
            }),
        InputReader(
            "a block of fields over HTTP/2",
            bytes: [Self.block([(":method", "GET"), (":path", "/x"), ("accept-encoding", "br"), ("x-é", "é")])],
            frames: [
                Frame(encode: { Self.block([(":method", "GET"), (":path", "/"), ("if-none-match", text($0))]) }),
                Frame(encode: { Self.block([(":method", "GET"), (":path", text($0))]) }),
                Frame(encode: { Self.block([(":method", text($0)), (":path", "/")]) }),
                Frame(encode: { Self.block([(text($0), "x")]) }),
                Frame(encode: { Self.block([(":" + text($0), "x")]) }),
                Frame(encode: { Self.block([("connection", text($0))]) }),
            ],
            read: { input in
                var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
                var buffer = ByteBuffer(bytes: input)
                let fields = try decoder.decodeHeaders(from: &buffer)
                use(PlainStream(fields))
                var passed = FieldBlock.literal(fields)
                var other = HPACKDecoder(allocator: ByteBufferAllocator())
                for (name, value, _) in try other.decodeHeaders(from: &passed) {
                    #expect(name.isASCII && value.isASCII)
                }
            }),
        InputReader(
            "frames of HTTP/2",
            bytes: [
                Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
                    + [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 1, 0, 0] + [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x82]
                    + [0, 0, 1, 1, 0, 0, 0, 0, 3, 0x82] + [0, 0, 1, 9, 4, 0, 0, 0, 3, 0x84]
            ],
            read: { input in
                let push = DocumentPush(table: DocumentTable(clock: { Timestamp(seconds: 1_800_000_000) }), limit: 0)
                let share = EventLoopState(
                    clock: { Timestamp(seconds: 1_800_000_000) }, served: ServedCount(), intake: nil,
                    streams: LoopStreams(push: push, wakeup: LoopWakeup()))
                let channel = EmbeddedChannel(handler: PreparedStreams(answers: nil, share: share, limits: .init()))
                defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
                try channel.writeInbound(ByteBuffer(bytes: input))
                while let passed = try channel.readInbound(as: ByteBuffer.self) { use(passed) }
            }),
        InputReader(
            "a compressed body",
            bytes: [[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B, 4, 0, 0x43, 0xBE, 0xB7, 0xE8, 1, 0, 0, 0]],
            read: { use(try Inflation.gunzip($0, atMost: 1 << 16)) }),
    ]

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func block(_ fields: [(String, String)]) -> [UInt8] {
        var block = ByteBuffer()
        for (name, value) in fields {
            block.writeInteger(0x10 as UInt8)
            for text in [name, value] {
                let count = text.utf8.count
                if count < 127 {
                    block.writeInteger(UInt8(count))
                } else {
                    block.writeInteger(127 as UInt8)
                    var rest = count - 127
                    while rest >= 128 {
                        block.writeInteger(UInt8(rest & 127) | 128)
                        rest >>= 7
                    }
                    block.writeInteger(UInt8(rest))
                }
                block.writeString(text)
            }
        }
        return Array(block.readableBytesView)
    }

    /// Takes a text for each of the things that texts may be.
    static func parse(_ text: String) {
        handle(text)
        use(
            try? AppID(text), try? HostPattern(text), try? AppVersion(text), try? Pin(text: text),
            Timestamp(rfc3339: text),
            try? Reason(text), JSONPointer(text: text)?.text, Base64URL.decode(text), Hex.decode(text), InstallID(text),
            try? OutgoingURL(text), try? Horizons(text), PlainText.isAcceptable(text, atMost: 100), text.printable)
        if let time = Timestamp(rfc3339: text) { use(time.rfc3339) }
    }
}
