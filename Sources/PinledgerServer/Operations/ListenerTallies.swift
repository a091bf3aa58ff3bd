/// What the listeners of a node count, for `/metrics`.
struct ListenerTallies: Sendable {
    /// How many requests each event loop has answered from prepared bytes.
    var served: [ServedCount] = []
    /// How many connections each listener has now.
    var connections: @Sendable () -> [(listener: Server.Listener.Content, count: Int)] = { [] }
}
