import Firebase

/// A node's settings for keeping Firebase projects in step.
struct FirebaseConfiguration: Sendable {
    /// One for each project.
    var accounts: [ServiceAccount]
    var endpoint: FirebaseEndpoint
    /// Seconds.
    var interval: Int64
}
