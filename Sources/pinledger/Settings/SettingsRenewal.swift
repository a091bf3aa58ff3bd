import Foundation
import LogLines
import Logging
import Synchronization

/// The configuration file of a running node, which takes over what it can when the file changes.
final class SettingsRenewal: Sendable {
    private struct State {
        var bytes: [UInt8]?
        var settings: [EffectiveSetting]
    }

    private let path: String
    private let configure: @Sendable (Settings) throws -> NodeConfiguration
    private let state: Mutex<State>

    /// - Parameters:
    ///   - settings: Those that the node started with.
    ///   - configure: Reads the node's settings as at its start.
    init(
        path: String, settings: [EffectiveSetting],
        configure: @escaping @Sendable (Settings) throws -> NodeConfiguration
    ) {
        self.path = path
        self.configure = configure
        self.state = Mutex(State(bytes: Self.bytes(of: path), settings: settings))
    }

    private static func bytes(of path: String) -> [UInt8]? {
        guard let file = try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)) else { return nil }
        return (try? file.read(upToCount: SettingsFile.limit + 1)).map { Array($0) }
    }

    /// Reads the file again if it has changed, or in any case with `isForced`; blocks.
    ///
    /// - Parameter apply: Takes over what a running node can.
    /// - Returns: Whether the file was read.
    func reload(
        isForced: Bool, _ logger: Logger, _ apply: (NodeConfiguration) -> Void
    ) throws(FileRenewal.Unusable) -> Bool {
        let bytes = Self.bytes(of: self.path)
        guard isForced || bytes != self.state.withLock({ $0.bytes }) else { return false }
        // Refused content is not tried again before it changes.
        self.state.withLock { $0.bytes = bytes }
        let (settings, configuration): (Settings, NodeConfiguration)
        do {
            settings = try Settings(file: SettingsFile(path: self.path))
            configuration = try self.configure(settings)
        } catch {
            let failure = ErrorText.failure(for: error)
            throw FileRenewal.Unusable(reason: failure.message, advice: failure.advice)
        }
        let before = self.state.withLock { $0.settings }
        let changed = settings.effective.filter { new in
            before.first { $0.setting == new.setting }?.values != new.values
        }
        apply(configuration)
        // What needs a restart is named again with every reload until then.
        self.state.withLock { state in
            for (place, old) in state.settings.enumerated() where old.setting.isReloaded {
                state.settings[place] = settings.effective(old.setting) ?? old
            }
        }
        let left = changed.filter { !$0.setting.isReloaded }
        if !left.isEmpty {
            logger.log(
                .settingsNeedRestart, ["settings": "\(left.map(\.setting.rawValue).joined(separator: ", "))"])
        }
        return true
    }
}
