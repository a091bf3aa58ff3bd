import PinWire

/// A version of an app's document as the ledger records that it was published. The entry that records it says nothing else, so
/// that its inclusion in the log can be proved to people who may not read the log.
package struct Publication: Hashable, Sendable {
    /// The document's version.
    package let version: Int64
    /// The document's ``Document/contentDigest``, 32 bytes.
    package let contentDigest: [UInt8]

    package init(version: Int64, contentDigest: [UInt8]) {
        self.version = version
        self.contentDigest = contentDigest
    }
}

extension Watch {
    /// Whether a version is recorded, or so far behind the last ones that it cannot be told.
    package func hasRecorded(_ version: Int64) -> Bool {
        guard let published, version <= published.publication.version else { return false }
        let isKnown = self.publishedVersions.contains(version)
        return isKnown
            || self.publishedVersions.count == Self.publishedLimit && version < self.publishedVersions.min() ?? 0
    }
}

extension LedgerState {
    /// The events that record a publication; none where documents are not recorded, or this version is recorded already: any
    /// number of nodes may try.
    func record(_ publication: Publication, of id: AppID) throws(Refusal) -> [WatchEvent] {
        guard let app = self.apps[id] else { throw .appUnknown(id) }
        guard self.log.recordsDocuments, !app.watch.hasRecorded(publication.version) else { return [] }
        return [.documentPublished(publication)]
    }
}
