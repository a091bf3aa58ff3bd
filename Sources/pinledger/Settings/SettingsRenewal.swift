import Addresses
import LogLines
import Logging
import PinledgerServer
import Synchronization

/// The configuration file of a running node or edge, which takes over what it can when the file changes.
final class SettingsRenewal: Sendable {
    /// What a running node takes over.
    struct Reloaded: Sendable {
        var logLevel: Logger.Level
        var limits: Server.Limits
        var trustedProxies: [IPNetwork]
    }

    private struct State {
        /// What was taken over or refused last.
        var bytes: [UInt8]
        /// What was found last.
        var seen: [UInt8]
    }

    /// The settings that the node started with.
    private let settings: Settings
    private let started: SettingsFile
    /// The settings that the file decided when the node started: no flag, variable or credential did.
    private let decided: Set<Setting>
    private let read: @Sendable (Settings) throws -> Reloaded
    private let state: Mutex<State>

    /// - Parameters:
    ///   - file: As the node read it when it started.
    ///   - settings: Those that the node started with.
    init(
        of file: SettingsFile, _ settings: Settings,
        read: @escaping @Sendable (Settings) throws -> Reloaded
    ) {
        self.settings = settings
        self.started = file
        self.decided = Set(
            settings.effective.filter { setting in
                switch setting.source {
                case .file, .standard: true
                case .flag, .variable, .credential: false
                }
            }.map(\.setting))
        self.read = read
        self.state = Mutex(State(bytes: file.bytes, seen: file.bytes))
    }

    /// Reads the file again if it has changed, or in any case with `isForced`; blocks.
    ///
    /// Without `isForced`, a change is taken over when two readings in a row find the same: a program may still write the file.
    ///
    /// - Parameter apply: Takes over what a running node can.
    /// - Returns: Whether the file was taken over.
    func reload(
        isForced: Bool, _ logger: Logger, _ apply: (Reloaded) -> Void
    ) throws(FileRenewal.Unusable) -> Bool {
        do {
            let bytes = try SettingsFile.bytes(of: self.started.path)
            let isDue = self.state.withLock { state in
                defer { state.seen = bytes }
                return isForced || bytes != state.bytes && bytes == state.seen
            }
            guard isDue else { return false }
            // Refused content is not tried again before it changes.
            self.state.withLock { $0.bytes = bytes }
            let file = try SettingsFile(bytes: bytes, path: self.started.path, of: self.settings.program)
            let settings = try Settings(of: self.settings.program, flags: self.settings.flags, file: file)
            try settings.check()
            apply(try self.read(settings))
            self.nameOthers(in: file, logger)
            return true
        } catch {
            let failure = ErrorText.failure(for: error)
            throw FileRenewal.Unusable(reason: failure.message, advice: failure.advice)
        }
    }

    /// Names what differs from the start and needs a restart.
    private func nameOthers(in file: SettingsFile, _ logger: Logger) {
        let changed = Setting.all(of: self.settings.program).filter { setting in
            !setting.isReloaded && self.decided.contains(setting)
                && file.values[setting] != self.started.values[setting]
        }
        guard !changed.isEmpty else { return }
        logger.log(.settingsNeedRestart, ["settings": "\(changed.map(\.rawValue).joined(separator: ", "))"])
    }
}
