import Concurrency
import Keys
import LogLines
package import Logging
package import PinWire
package import Publishing
import Synchronization

/// The roots of trust that an edge passes on to clients: all of its upstream's, from the first one on.
///
/// Each is the successor of the one before, which is all that an edge can tell where it was started with a key set: clients
/// verify them by the root that they ship. Started with a root, it takes no row that does not lead through that one, and the newest one
/// says whose documents it serves (``TrustedKeys``).
package final class EdgeRoots: Sendable {
    private let keys: TrustedKeys
    /// The file that keeps them; nil for an edge without a state directory.
    private let path: String?
    private let logger: Logger
    private let roots = Mutex<[RootOfTrust]>([])

    /// The file's most bytes: a thousand roots and more.
    private static let fileLimit = 16 << 20
    /// Roots that are taken over in one go.
    private static let stepLimit = 64

    /// - Parameter directory: The edge's state directory; nil for none.
    package init(directory: String?, keys: TrustedKeys, logger: Logger) {
        self.keys = keys
        self.path = directory.map { "\($0)/roots" }
        self.logger = logger
    }

    /// All of them, the first one first.
    package var all: [RootOfTrust] { self.roots.withLock { $0 } }

    /// Takes in what was kept. What cannot be read or does not follow is left out: the upstream has it too.
    package func load() async {
        guard let path = self.path else { return }
        let bytes = await DetachedThread.run { try? PrivateFile.read(path, atMost: Self.fileLimit) }
        var found: [RootOfTrust] = []
        for line in (bytes ?? nil)?.split(separator: UInt8(ascii: "\n")) ?? [] {
            guard let next = try? Self.next(Array(line), after: found.last) else { break }
            found.append(next)
        }
        _ = try? self.take(found)
    }

    /// What has become of a look at the upstream's roots.
    package struct Outcome: Hashable, Sendable {
        /// The newest root, where it is another one than before.
        package var version: Int64?
        /// Whether the keys whose documents the edge serves have changed.
        package var hasNewKeys = false
        /// Why the upstream's next root is not taken; nil where it has none, or it is.
        package var refusal: String?
    }

    /// Asks the upstream for the next roots, and keeps them.
    package func refresh(from upstream: Upstream) async throws(UpstreamFailure) -> Outcome {
        var found = self.all
        let present = found.count
        var outcome = Outcome()
        while found.count < present + Self.stepLimit,
            let bytes = try await upstream.root(version: Int64(found.count) + 1)
        {
            do throws(RootOfTrust.Failure) { found.append(try Self.next(bytes, after: found.last)) } catch {
                outcome.refusal = "version \(found.count + 1): \(error)"
                break
            }
        }
        guard found.count > present else { return outcome }
        do throws(TrustedKeys.OtherRoots) {
            outcome.hasNewKeys = try self.take(found)
            outcome.version = found.last?.version
            await self.keep(found)
        } catch { outcome.refusal = "\(error)" }
        return outcome
    }

    /// - Returns: Whether the keys of documents have changed.
    private func take(_ found: [RootOfTrust]) throws(TrustedKeys.OtherRoots) -> Bool {
        let hasNewKeys = try self.keys.follow(found)
        self.roots.withLock { $0 = found }
        return hasNewKeys
    }

    private static func next(_ bytes: [UInt8], after last: RootOfTrust?) throws(RootOfTrust.Failure) -> RootOfTrust {
        guard let last else {
            let first = try RootOfTrust(bytes)
            guard first.version == 1 else { throw .otherVersion }
            return first
        }
        return try last.next(bytes)
    }

    private func keep(_ roots: [RootOfTrust]) async {
        guard let path = self.path else { return }
        let lines = roots.map { $0.bytes + [UInt8(ascii: "\n")] }
        let failure = await DetachedThread.run { () -> PrivateFile.Failure? in
            do throws(PrivateFile.Failure) { try PrivateFile.write(Array(lines.joined()), to: path) } catch {
                return error
            }
            return nil
        }
        guard case .some(.some(let failure)) = failure else { return }
        self.logger.log(.memoryNotKept, ["error": "\(failure.text("the roots of trust", path).message)"])
    }
}
