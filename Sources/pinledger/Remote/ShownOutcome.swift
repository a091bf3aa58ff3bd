import ArgumentParser
import PinWire
import PinledgerServer
import Pinning

/// How audited requests ended, as auditors are shown it: what was recorded, and apart from it what the request itself was wrong in.
enum ShownOutcome: String, CaseIterable, ExpressibleByArgument {
    case unauthenticated, denied, refused, mistyped, failed, read

    /// - Parameters:
    ///   - record: The requests as they were recorded.
    ///   - apps: The apps that there are; nil where that is not known. A request for one of them that was answered with "not found" came
    ///     from someone who does not see it.
    /// - Returns: Nil for an outcome of a later server.
    init?(of record: JSON, apps: Set<String>?) {
        guard let recorded = record["outcome"]?.stringValue.flatMap(AuditRecord.Outcome.init(rawValue:)) else {
            return nil
        }
        switch recorded {
        case .unauthenticated: self = .unauthenticated
        case .failed: self = .failed
        case .read: self = .read
        case .denied, .refused:
            let isThere = record["app"]?.stringValue.flatMap { app in apps.map { $0.contains(app) } } ?? (apps == nil)
            let isOfUnseenApp = record["problem"] == "app_unknown" && isThere
            if !isOfUnseenApp, record["problem"]?.stringValue.map(RequestMistake.isOne) == true {
                self = .mistyped
            } else {
                self = recorded == .denied ? .denied : .refused
            }
        }
    }
}
