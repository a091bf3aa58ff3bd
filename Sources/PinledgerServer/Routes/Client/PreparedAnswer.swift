import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Publishing
import Synchronization

/// The answer to GET and HEAD of a resource whose body was prepared when it was published: which representation a client
/// gets, and the fields that go with it.
///
/// The router and the handlers before it use only this, which is why their answers are the same. They have no
/// `Request-Id`: all clients get the same bytes.
final class PreparedAnswer: Sendable {
    /// A client's representation.
    enum Choice: Hashable, Sendable {
        case full(ContentCoding)
        /// 304: it has the current representation in this coding.
        case notModified(ContentCoding)
    }

    /// A choice, ready to be sent except for the date.
    struct Variant: Sendable {
        /// Status and fields, all except `Date`, which comes last.
        let response: HTTPResponse
        /// The same in the form of HTTP/1.1, up to and with `Date: `.
        let head: ByteBuffer
        /// The same in the form of HTTP/2, up to the date.
        let block: ByteBuffer
        let body: ByteBuffer?
    }

    /// The facts of an app's document for counting its clients: numbers alone, which are cheap to read.
    struct Document: Hashable, Sendable {
        /// The app's index in ``AdoptionIntake``.
        let appIndex: Int
        let version: Int64
    }

    let body: PreparedBody
    /// Nil where the resource is not a document.
    let document: Document?
    private let contentType: String
    let cacheControl: String
    /// For HTML for people: what a browser may do with it. Nil for everything else.
    private let securityPolicy: String?
    private let tags: [(coding: ContentCoding, text: String)]
    private let variants = Mutex<[Choice: Variant]>([:])

    init(
        contentType: String, cacheControl: String, body: PreparedBody, document: Document? = nil,
        securityPolicy: String? = nil
    ) {
        self.document = document
        self.contentType = contentType
        self.cacheControl = cacheControl
        self.securityPolicy = securityPolicy
        self.body = body
        self.tags = ContentCoding.allCases.map { ($0, body.tag(in: $0)) }
    }

    // MARK: Without waiting

    /// The representation that can be sent at once; nil where one has still to be made, or none is acceptable.
    func ready(ifNoneMatch condition: String?, _ preference: CodingPreference) -> Variant? {
        if let coding = self.match(condition) { return self.variant(.notModified(coding), nil) }
        for coding in preference.codings {
            switch self.body.readiness(of: coding) {
            case .made(let representation): return self.variant(.full(coding), representation.bytes)
            case .needless: continue
            case .notMade: return nil
            }
        }
        return nil
    }

    // MARK: For the router

    /// The representation the client wants most, or 304 where it has the current one.
    func response(to request: Request) throws(Problem) -> Response {
        let condition = Self.joined(request.headers, .ifNoneMatch)
        let preference = CodingPreference(Self.joined(request.headers, .acceptEncoding))
        if let coding = self.match(condition) { return Self.response(self.variant(.notModified(coding), nil)) }
        for coding in preference.codings {
            guard let representation = self.body.representation(in: coding) else { continue }
            return Self.response(self.variant(.full(coding), representation.bytes))
        }
        throw Problem(.notAcceptable, "The document is available in the codings br, gzip and identity.")
    }

    private static func response(_ variant: Variant) -> Response {
        let body = variant.body.map { ResponseBody(byteBuffer: $0) } ?? ResponseBody()
        var response = Response(status: variant.response.status, headers: variant.response.headerFields, body: body)
        // A 304 has no length of its own.
        if variant.body == nil { response.headers[.contentLength] = nil }
        return response
    }

    /// Several fields of one name are one list (RFC 9110 section 5.3); nil for one that is not ASCII, which counts as
    /// absent.
    static func joined(_ headers: HTTPFields, _ name: HTTPField.Name) -> String? {
        let values = headers[values: name]
        return values.isEmpty || !values.allSatisfy(\.isASCII) ? nil : values.joined(separator: ", ")
    }

    // MARK: Making

    /// The coding whose tag a condition names.
    private func match(_ condition: String?) -> ContentCoding? {
        guard let condition else { return nil }
        // Nearly always it is the one tag that was sent before.
        if let known = self.tags.first(where: { $0.text == condition }) { return known.coding }
        let tag = ConditionalRequest.noneMatch(condition, names: self.tags.map(\.text))
        return self.tags.first { $0.text == tag }?.coding
    }

    private func variant(_ choice: Choice, _ bytes: ByteBuffer?) -> Variant {
        self.variants.withLock { variants in
            if let variant = variants[choice] { return variant }
            let variant = self.make(choice, bytes)
            variants[choice] = variant
            return variant
        }
    }

    private func make(_ choice: Choice, _ bytes: ByteBuffer?) -> Variant {
        var fields = HTTPFields()
        let status: HTTPResponse.Status
        switch choice {
        case .full(let coding):
            status = .ok
            fields[.contentType] = self.contentType
            if coding != .identity { fields[.contentEncoding] = coding.rawValue }
            fields[.contentLength] = String(bytes?.readableBytes ?? 0)
            fields[.eTag] = self.body.tag(in: coding)
        case .notModified(let coding):
            status = .notModified
            fields[.eTag] = self.body.tag(in: coding)
        }
        fields[.cacheControl] = self.cacheControl
        fields[.vary] = "Accept-Encoding"
        fields[.contentTypeOptions] = "nosniff"
        fields[.contentSecurityPolicy] = self.securityPolicy
        var head = ByteBuffer()
        head.writeString("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n")
        for field in fields { head.writeString("\(field.name.rawName): \(field.value)\r\n") }
        head.writeString("Date: ")
        let response = HTTPResponse(status: status, headerFields: fields)
        return Variant(response: response, head: head, block: FieldBlock.response(response), body: bytes)
    }
}
