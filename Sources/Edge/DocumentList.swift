package import PinWire

/// The documents that an upstream serves, as `/client/v1/documents` lists them: without their contents.
package struct DocumentList: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package let app: AppID
        package let version: Int64
        /// The entity tag of the document without a coding, quotes included.
        package let tag: String
    }

    package let entries: [Entry]
    /// The list's own entity tag; empty where it has none.
    package let tag: String

    /// The most bytes of a list: more than 100,000 apps.
    package static let byteLimit = 32 << 20
    private static let limits = JSONLimits(depth: 4, nodes: 1_000_000)

    package init(_ bytes: [UInt8], tag: String) throws(UpstreamFailure) {
        guard let json = try? JSON(parsing: bytes, limits: Self.limits), let listed = json["documents"]?.arrayValue
        else { throw .malformed("list of documents") }
        var entries: [Entry] = []
        for each in listed {
            guard let app = each["app"]?.stringValue.flatMap({ try? AppID($0) }), let tag = each["etag"]?.stringValue,
                let version = each["version"]?.integerValue
            else { throw .malformed("list of documents") }
            entries.append(Entry(app: app, version: version, tag: tag))
        }
        self.entries = entries
        self.tag = tag
    }
}
