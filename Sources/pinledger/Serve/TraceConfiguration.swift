import Foundation
import Keys
import PinWire
import TraceExport
import Traces

/// Where a node's traces go, and how many.
struct TraceConfiguration: Sendable {
    let destination: SpanExporter.Destination
    /// From 0 to 1.
    let ratio: Double

    /// The longest file of header fields.
    private static let headersLimit = 16 * 1024

    /// Nil where the settings name no collector.
    init?(_ settings: Settings) throws {
        let ratio = try settings.number(.traceRatio)
        let file = settings.text(.otlpHeadersFile)
        let authorities = settings.text(.otlpCAFile)
        guard let base = settings.text(.otlpEndpoint) else {
            for (setting, isGiven) in [(Setting.otlpHeadersFile, file != nil), (.otlpCAFile, authorities != nil)]
            where isGiven {
                throw settings.failure(
                    setting, "is of no use without a collector", advice: "Give --otlp-endpoint too, or leave it out.")
            }
            return nil
        }
        // The address may hold a password, which no error may show.
        guard let url = URL(string: base), ["http", "https"].contains(url.scheme?.lowercased()), let host = url.host,
            !host.isEmpty, (1...65_535).contains(url.port ?? 1), url.query == nil, url.fragment == nil, url.user == nil,
            url.password == nil, !url.path.hasSuffix("/v1/traces")
        else {
            throw settings.failure(
                .otlpEndpoint, "is no address of a collector",
                advice:
                    "Give scheme, host and port alone, such as http://localhost:4318: /v1/traces is added, and tokens belong in --otlp-headers-file."
            )
        }
        guard url.scheme?.lowercased() == "https" || LoopbackHost.contains(host) || file == nil else {
            throw settings.failure(
                .otlpEndpoint, "is plain http, and the header fields would go there in the clear",
                advice: "Use an https address, or leave \(settings.name(of: .otlpHeadersFile)) out.")
        }
        let trust: ServerTrust = authorities.map { .authorities(file: $0) } ?? .system
        self.destination = SpanExporter.Destination(
            base: base, fields: try file.map(Self.fields) ?? [], tls: try trust.configuration())
        self.ratio = ratio
    }

    /// Reads header fields, one a line.
    private static func fields(_ file: String) throws -> [(name: String, value: String)] {
        let bytes: [UInt8]
        do throws(PrivateFile.Failure) { bytes = try PrivateFile.read(file, atMost: Self.headersLimit) } catch {
            throw CommandFailure(error, "the header fields for the collector", file)
        }
        guard let text = String(streamSafe: bytes) else {
            throw CommandFailure(
                "\(file) holds no header fields: it is not text",
                advice: "Write one field a line, such as: Authorization: Bearer <token>", status: .usage)
        }
        let lines = text.split(whereSeparator: \.isNewline)
        return try lines.filter { !$0.allSatisfy(\.isWhitespace) }.map { line in
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, let name = parts.first, let value = parts.last,
                HeaderField.isName(name), HeaderField.isValue(value)
            else {
                throw CommandFailure(
                    "a line of \(file) is no header field",
                    advice: "Write one field a line, such as: Authorization: Bearer <token>", status: .usage)
            }
            return (name, value)
        }
    }
}

/// The syntax of header fields (RFC 9110, section 5), as far as this program sends it.
private enum HeaderField {
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }

    static func isValue(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
}
