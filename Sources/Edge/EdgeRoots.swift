import Concurrency
import Keys
import LogLines
package import Logging
package import PinWire
package import Publishing
import Synchronization

/// The roots of trust that an edge passes on to clients: all of its upstream's, from the first one on.
///
/// Each is signed by its own keys, which is all that an edge can tell where it was started with a key set: clients verify them by the root
/// that they ship. Started with a root, it takes no row without that one, and the newest of its successors says whose documents it serves
/// (``TrustedKeys``).
package final class EdgeRoots: Sendable {
    private let keys: TrustedKeys
    /// The file that keeps them; nil for an edge without a state directory.
    private let path: String?
    private let logger: Logger
    private let roots = Mutex<[RootOfTrust]>([])

    /// The most roots: one a month for many years.
    private static let limit = 512
    private static let fileLimit = 512 * (RootOfTrust.byteLimit + 1)

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
        self.load((bytes ?? nil)?.split(separator: UInt8(ascii: "\n")).map(Array.init) ?? [])
    }

    /// Takes in roots that were kept elsewhere, the first one first.
    package func load(_ kept: [[UInt8]]) {
        var found: [RootOfTrust] = []
        for bytes in kept.prefix(Self.limit) {
            guard let next = try? Self.next(bytes, after: found.last) else { break }
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
    ///
    /// Where the upstream's next root does not follow those that are kept, its whole row is looked at again: an edge that was started with a key
    /// set cannot tell which of two rows is right, and passes on what the upstream has now.
    package func refresh(from upstream: Upstream) async throws(UpstreamFailure) -> Outcome {
        let present = self.all
        var (row, refusal) = try await self.row(from: upstream, after: present)
        if refusal != nil, !present.isEmpty { (row, refusal) = try await self.row(from: upstream, after: []) }
        var outcome = Outcome(refusal: refusal)
        guard row != present, row.count >= present.count || !row.starts(with: present.prefix(row.count)) else {
            return outcome
        }
        do throws(TrustedKeys.OtherRoots) {
            outcome.hasNewKeys = try self.take(row)
            outcome.version = row.last?.version
            await self.keep(row)
        } catch { outcome.refusal = "\(error)" }
        return outcome
    }

    /// The upstream's roots after some of them, with those; and why the next one is not among them, where it has one.
    private func row(
        from upstream: Upstream, after known: [RootOfTrust]
    ) async throws(UpstreamFailure) -> ([RootOfTrust], refusal: String?) {
        var row = known
        while row.count < Self.limit, let bytes = try await upstream.root(version: Int64(row.count) + 1) {
            do throws(RootOfTrust.Failure) { row.append(try Self.next(bytes, after: row.last)) } catch {
                return (row, "version \(row.count + 1): \(error)")
            }
        }
        return (row, nil)
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
        // Where a new row begins, clients decide by what they ship.
        if let next = try? last.next(bytes) { return next }
        let next = try RootOfTrust(bytes)
        guard next.version - 1 == last.version else { throw .otherVersion }
        return next
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
