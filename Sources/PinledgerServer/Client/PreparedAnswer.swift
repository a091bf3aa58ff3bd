import HTTPTypes
import Hummingbird
import Publishing

/// Answers GET and HEAD from a body that was prepared when it was published.
struct PreparedAnswer: Sendable {
    let contentType: String
    let cacheControl: String
    let body: PreparedBody

    /// The representation the client wants most, or 304 where it has the current one.
    func response(to request: Request) throws(Problem) -> Response {
        var headers: HTTPFields = [.cacheControl: self.cacheControl, .vary: "Accept-Encoding"]
        // Several fields of one name are one list (RFC 9110 section 5.3).
        if let condition = Self.joined(request.headers, .ifNoneMatch),
            let tag = ConditionalRequest.noneMatch(condition, names: self.body.representations.map(\.tag))
        {
            headers[.eTag] = tag
            return Response(status: .notModified, headers: headers)
        }
        let accepted = Self.joined(request.headers, .acceptEncoding)
        let choice = [ContentCoding.br, .gzip, .identity].compactMap { coding in
            self.body.representation(in: coding).map {
                ($0, ConditionalRequest.weight(of: coding.rawValue, in: accepted))
            }
        }.max { $0.1 < $1.1 }
        guard let (representation, weight) = choice, weight > 0 else {
            throw Problem(.notAcceptable, "The document is to be had in the codings br, gzip and identity.")
        }
        headers[.eTag] = representation.tag
        headers[.contentType] = self.contentType
        if representation.coding != .identity { headers[.contentEncoding] = representation.coding.rawValue }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: representation.bytes))
    }

    private static func joined(_ headers: HTTPFields, _ name: HTTPField.Name) -> String? {
        let values = headers[values: name]
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}
