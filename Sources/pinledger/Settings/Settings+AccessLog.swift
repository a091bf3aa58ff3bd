import PinledgerServer

extension Settings {
    /// Where a line for each request goes; nil for nowhere.
    var accessLogPath: String? {
        get throws {
            guard let path = self.text(.accessLog) else { return nil }
            do throws(AccessLog.Unusable) { try AccessLog.check(path) } catch {
                throw CommandFailure(error.description, advice: error.advice, status: .usage)
            }
            return path
        }
    }
}
