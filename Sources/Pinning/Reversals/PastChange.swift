/// A recorded change of an app: the events of one command, and the app before and after them.
package struct PastChange: Hashable, Sendable {
    /// The position of its first event.
    package let position: Int64
    package let events: [AppEvent]
    /// Nil where the change created the app.
    package let before: App?
    package let after: App

    package init(position: Int64, events: [AppEvent], before: App?, after: App) {
        self.position = position
        self.events = events
        self.before = before
        self.after = after
    }
}
