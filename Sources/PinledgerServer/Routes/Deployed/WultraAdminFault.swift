/// An error that must not occur behind Wultra's administrative interface, and is not the request's fault: the log says
/// which.
struct WultraAdminFault: Error, CustomStringConvertible {
    let description: String
}
