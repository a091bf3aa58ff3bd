/// A failure in the report format of TrustKit, for iOS or Android, or of browsers (RFC 7469 section 3): one reader for
/// all three, since none of them will change any more.
///
/// Unknown members are ignored. Known members must have their type, or be null, which counts as absent; a malformed
/// version, id or time counts as not stated.
package struct ForeignReport: Hashable, Sendable {
    /// Without the presented keys.
    package var report: OutcomeReport
    /// The certificate that the server presented, in PEM.
    package var certificate: String?

    /// Limits on a report.
    package static let limits = JSONLimits(depth: 16, nodes: 1000)

    /// Why a text is not such a report.
    package struct Malformed: Error, Hashable, Sendable {
        package let member: String
        package let message: String
    }

    /// - Parameter json: An object with the members of the formats.
    package init(_ json: JSON) throws(Malformed) {
        guard json.objectValue != nil else { throw Malformed(member: "", message: "must be an object") }
        guard let host = json["hostname"]?.stringValue.flatMap(OutcomeReport.hostName) else {
            throw Malformed(member: "hostname", message: "must be a host name")
        }
        var report = OutcomeReport(host: host, outcome: .failure(try Self.reason(json)))
        report.platform = try Self.text("app-platform", of: json).map(ClientPlatform.init(named:))
        report.release = try Self.text("app-version", of: json).flatMap { try? AppVersion($0) }?.release
        report.time = try Self.text("date-time", of: json).flatMap(Self.time)
        // Not an id by our own format, but it tells devices apart as well.
        if let vendor = try Self.text("app-vendor-id", of: json), (1...64).contains(vendor.utf8.count) {
            report.install = InstallID(bytes: Array(sha256(Array("app-vendor-id ".utf8) + vendor.utf8).prefix(16)))
        }
        self.report = report
        let served = try Self.chain("served-certificate-chain", of: json)
        let validated = try Self.chain("validated-certificate-chain", of: json)
        self.certificate = (served ?? validated)?.first
    }

    // MARK: Members

    /// A member that is there and not null.
    private static func member(_ name: String, of json: JSON) -> JSON? { json[name].flatMap { $0 == .null ? nil : $0 } }

    private static func text(_ name: String, of json: JSON) throws(Malformed) -> String? {
        guard let value = Self.member(name, of: json) else { return nil }
        guard let text = value.stringValue else { throw Malformed(member: name, message: "must be a string") }
        return text
    }

    private static func chain(_ name: String, of json: JSON) throws(Malformed) -> [String]? {
        guard let value = Self.member(name, of: json) else { return nil }
        let texts = value.arrayValue?.map(\.stringValue)
        guard let texts, texts.allSatisfy({ $0 != nil }) else {
            throw Malformed(member: name, message: "must be an array of strings")
        }
        return texts.compactMap { $0 }
    }

    private static func reason(_ json: JSON) throws(Malformed) -> OutcomeReason {
        let isEnforced = Self.member("enforce-pinning", of: json)
        guard [nil, true, false].contains(isEnforced) else {
            throw Malformed(member: "enforce-pinning", message: "must be true or false")
        }
        // RFC 7469 has no other reason.
        guard let result = Self.member("validation-result", of: json) else { return .pinMismatch }
        switch result.integerValue {
        case 0: throw Malformed(member: "validation-result", message: "must be a failure")
        case 1: return isEnforced == false ? .reportOnlyMismatch : .pinMismatch
        case 2: return .chainInvalid
        case 3, 4, 5: return .other
        default: throw Malformed(member: "validation-result", message: "must be a whole number from 1 to 5")
        }
    }

    /// In the form of RFC 3339, or with a zone without a colon, as Java writes it.
    private static func time(_ text: String) -> Timestamp? {
        if let time = Timestamp(rfc3339: text) { return time }
        let bytes = Array(text.utf8)
        guard bytes.count > 5,
            bytes[bytes.count - 5] == UInt8(ascii: "+") || bytes[bytes.count - 5] == UInt8(ascii: "-")
        else { return nil }
        return Timestamp(rfc3339: "\(text.dropLast(2)):\(text.suffix(2))")
    }
}
