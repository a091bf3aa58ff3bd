import CPostgres

/// The server's warnings beside its answers to one statement.
///
/// A commit that stops waiting for its synchronous standby succeeds, and only a WARNING says that the standby may not
/// have it (PostgreSQL's syncrep.c). It has no code of its own, and its text is translated: it is recognised by its
/// severity (`V`) and by the place in the server's source (`F`), which are not. Belongs to its session's thread, as the
/// session does.
@safe
final class ServerWarnings {
    private(set) var last: PostgresError?
    /// The last one about a standby.
    private(set) var ofReplication: PostgresError?

    func forget() { (self.last, self.ofReplication) = (nil, nil) }

    /// Takes the server's notices from now on; the default prints them to stderr.
    ///
    /// libpq keeps this object's address, so it MUST live as long as the connection.
    func listen(to connection: OpaquePointer) {
        unsafe PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context = unsafe context, let result = unsafe result else { return }
                let warnings = unsafe Unmanaged<ServerWarnings>.fromOpaque(context).takeUnretainedValue()
                unsafe warnings.take(result)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private func take(_ notice: OpaquePointer) {
        guard unsafe LibpqResult.field("V", of: notice) == "WARNING" else { return }
        let state = unsafe LibpqResult.field("C", of: notice) ?? "01000"
        let warning = unsafe PostgresError(
            .server(sqlState: state), LibpqResult.field("M", of: notice) ?? "a warning without text")
        self.last = warning
        if unsafe LibpqResult.field("F", of: notice) == "syncrep.c" { self.ofReplication = warning }
    }
}
