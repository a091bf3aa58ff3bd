import HTTPTypes
import Hummingbird
import NIOCore
import PinWire

/// A refusal on its way to the caller (RFC 9457).
struct Problem: Error, Sendable {
    let type: ProblemType
    /// What is wrong in this case, as a sentence.
    var detail: String
    /// The wrong parts of the request, with their places.
    var errors: [JSONDefect] = []
    /// Further members.
    var members: [String: JSON] = [:]
    var headers = HTTPFields()
    /// The parameters of the challenge of status 401; nil for the usual ones.
    var challenge: String?

    init(_ type: ProblemType, _ detail: String, errors: [JSONDefect] = []) {
        self.type = type
        self.detail = detail
        self.errors = errors
    }

    /// A problem of one member of the body.
    init(_ defect: JSONDefect) {
        self.init(.invalidValue, defect.description.dropLastStop + ".", errors: [defect])
    }

    /// The problem as JSON; `instance` names the request.
    func json(requestID: String) -> JSON {
        let entry = self.type.entry
        var members = self.members
        members["type"] = .string("/problems/\(self.type.rawValue)")
        members["title"] = .string(entry.title)
        members["status"] = .integer(Int64(entry.status.code))
        members["detail"] = .string(self.detail)
        members["advice"] = .string(entry.advice)
        members["instance"] = .string("urn:request:\(requestID)")
        if !self.errors.isEmpty {
            members["errors"] = .array(
                self.errors.map { ["pointer": .string($0.pointer.text), "detail": .string($0.message)] }
            )
        }
        return .object(members)
    }

    /// Head and body of the response that carries the problem.
    func parts(requestID: String) -> (HTTPResponse, ByteBuffer) {
        let body = ByteBuffer(bytes: self.json(requestID: requestID).canonicalBytes)
        var headers = self.headers
        headers[.contentType] = "application/problem+json"
        headers[.contentLength] = String(body.readableBytes)
        if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
        let status = self.type.entry.status
        if status == .serviceUnavailable, headers[.retryAfter] == nil { headers[.retryAfter] = "1" }
        if self.type == .signatureInvalid {
            headers[.wwwAuthenticate] = "Pinledger-Signature realm=\"reports\""
        } else if status == .unauthorized {
            // RFC 6750 section 3.1: no error code where the request came without a token.
            let usual = self.type == .tokenMissing ? nil : "error=\"invalid_token\""
            let error = (self.challenge ?? usual).map { ", \($0)" } ?? ""
            // The route's other schemes come before it; some programs read only the first challenge.
            let other = headers[.wwwAuthenticate].map { "\($0), " } ?? ""
            headers[.wwwAuthenticate] = "\(other)Bearer realm=\"pinledger\"\(error)"
        }
        return (HTTPResponse(status: status, headerFields: headers), body)
    }

    /// The response that carries the problem.
    func response(requestID: String) -> Response {
        let (head, body) = self.parts(requestID: requestID)
        return Response(status: head.status, headers: head.headerFields, body: ResponseBody(byteBuffer: body))
    }
}
