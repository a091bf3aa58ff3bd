/// A failure as TrustKit reports it, for iOS or Android, or a browser as RFC 7469 section 3 has it: one permissive reader
/// for all three, since neither can be changed any more.
package struct ForeignReport: Hashable, Sendable {
    /// Without the keys that the client was shown.
    package var report: OutcomeReport
    /// The certificate that the server presented, in PEM.
    package var certificate: String?

    /// What a report may ask of its reader.
    package static let limits = JSONLimits(depth: 16, nodes: 1000)

    /// Why a text is no such report.
    package struct Malformed: Error, Hashable, Sendable {
        package let member: String
        package let message: String
    }

    /// - Parameter json: An object whose members are named as in the formats.
    package init(_ json: JSON) throws(Malformed) {
        guard json.objectValue != nil else { throw Malformed(member: "", message: "must be an object") }
        guard let host = json["hostname"]?.stringValue.flatMap(OutcomeReport.hostName) else {
            throw Malformed(member: "hostname", message: "must be a host name")
        }
        var report = OutcomeReport(host: host, outcome: .failure(try Self.reason(json)))
        if let platform = json["app-platform"]?.stringValue { report.platform = ClientPlatform(named: platform) }
        report.release = json["app-version"]?.stringValue.flatMap { try? AppVersion($0) }?.release
        report.time = json["date-time"]?.stringValue.flatMap(Self.time)
        // Not an id that we asked for, but it tells devices apart as well.
        if let vendor = json["app-vendor-id"]?.stringValue, (1...64).contains(vendor.utf8.count) {
            report.install = InstallID(bytes: Array(sha256(Array("app-vendor-id ".utf8) + vendor.utf8).prefix(16)))
        }
        self.report = report
        let chain = json["served-certificate-chain"]?.arrayValue ?? json["validated-certificate-chain"]?.arrayValue
        self.certificate = chain?.first?.stringValue
    }

    private static func reason(_ json: JSON) throws(Malformed) -> OutcomeReason {
        // RFC 7469 knows no other.
        guard let result = json["validation-result"] else { return .pinMismatch }
        switch result.integerValue {
        case 0: throw Malformed(member: "validation-result", message: "must be a failure")
        case 1: return json["enforce-pinning"] == false ? .reportOnlyMismatch : .pinMismatch
        case 2: return .chainInvalid
        case 3, 4, 5: return .other
        default: throw Malformed(member: "validation-result", message: "must be a whole number from 1 to 5")
        }
    }

    /// As RFC 3339 has it, or with a zone that has no colon, as Java writes it.
    private static func time(_ text: String) -> Timestamp? {
        if let time = Timestamp(rfc3339: text) { return time }
        let bytes = Array(text.utf8)
        guard bytes.count > 5,
            bytes[bytes.count - 5] == UInt8(ascii: "+") || bytes[bytes.count - 5] == UInt8(ascii: "-")
        else { return nil }
        return Timestamp(rfc3339: "\(text.dropLast(2)):\(text.suffix(2))")
    }
}
