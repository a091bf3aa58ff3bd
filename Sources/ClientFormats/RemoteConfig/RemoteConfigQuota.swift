/// The service's limits for one project (its page of quotas and limits).
package enum RemoteConfigQuota {
    /// In new projects; old ones have 500.
    package static let conditions = 2000
    package static let parameters = 3000
    /// The characters of all values together.
    package static let characters = 1_000_000
}
