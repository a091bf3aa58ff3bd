import Firebase

/// What a node needs to know to keep Firebase projects in step.
struct FirebaseConfiguration: Sendable {
    /// One for each project.
    var accounts: [ServiceAccount]
    var endpoint: FirebaseEndpoint
    /// Seconds.
    var interval: Int64
}
