import Pinning

extension Horizons {
    /// How long before the end of a certificate or pin it is announced.
    init(_ settings: Settings) throws {
        guard let text = settings.text(.warnDays) else {
            self = .standard
            return
        }
        do { try self.init(text) } catch { throw settings.failure(.warnDays, error.description) }
    }
}
