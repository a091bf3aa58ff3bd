/// The answer to a request in a client's own format: an HTTP status and a body of JSON.
package struct FormatReply: Hashable, Sendable {
    /// The HTTP status (RFC 9110 section 15).
    package var status: Int
    /// UTF-8, to be sent unchanged under `application/json`.
    package var body: [UInt8]

    package init(status: Int = 200, _ json: OrderedJSON) {
        self.status = status
        self.body = json.bytes()
    }
}
