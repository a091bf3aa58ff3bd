/// What must not come up behind Wultra's administrative interface, and is no fault of the request's: the log says which.
struct WultraAdminFault: Error, CustomStringConvertible {
    let description: String
}
