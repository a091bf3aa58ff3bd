import CPostgres
import PinWire

extension LibpqSession {
    /// The notifications that this session has read. Anyone who may connect can notify: a payload that is not ASCII is
    /// given as an empty one.
    func takeNotifications() -> [(channel: String, payload: String)] {
        guard let handle = unsafe self.handle else { return [] }
        var taken: [(channel: String, payload: String)] = []
        while let notification = unsafe PQnotifies(handle) {
            let channel = unsafe String(cString: notification.pointee.relname)
            let payload = unsafe String(cString: notification.pointee.extra)
            taken.append((channel, payload.isASCII ? payload : ""))
            unsafe PQfreemem(notification)
        }
        return taken
    }

    /// Waits for any data from the server, at most until then. Throws `.connectionLost`.
    func waitForNotifications(until end: ContinuousClock.Instant) throws(PostgresError) {
        self.forgetStatement()
        if self.waitOnce(for: Int16(POLLIN), atMost: ContinuousClock.now.duration(to: end)) != 0 {
            try self.drainInput()
        }
    }
}
