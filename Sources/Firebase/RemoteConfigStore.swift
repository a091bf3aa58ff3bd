/// The storage of a project's client template: Firebase, or its double in tests.
package protocol RemoteConfigStore: Sendable {
    func get() async throws(FirebaseFailure) -> StoredTemplate

    /// Has a template checked, without changing anything.
    func validate(_ text: [UInt8], over etag: String) async throws(FirebaseFailure)

    /// Replaces the template that has this ETag; returns the new one as it was stored.
    func put(_ text: [UInt8], over etag: String) async throws(FirebaseFailure) -> StoredTemplate
}

/// A template as the service stores it.
package struct StoredTemplate: Sendable {
    package var text: [UInt8]
    package var etag: String

    package init(text: [UInt8], etag: String) {
        self.text = text
        self.etag = etag
    }
}
