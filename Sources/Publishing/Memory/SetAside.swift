import Concurrency
import Foundation

/// The names of a node's files once the history that they are of was lost and a recovery has begun a later epoch.
package enum SetAside {
    private static let mark = ".lost-in-epoch-"

    /// - Parameter epoch: The number of the epoch whose end was lost; nil for the files that the node goes on with.
    static func path(_ path: String, epoch: Int64?) -> String {
        epoch.map { "\(path)\(Self.mark)\($0)" } ?? path
    }

    /// The numbers of the epochs whose ends a node has set aside in its state directory, in their order.
    package static func epochs(in directory: String) async -> [Int64] {
        let names = await DetachedThread.run { try? FileManager.default.contentsOfDirectory(atPath: directory) }
        let prefix = NodeMemoryFile.name + Self.mark
        return (names.flatMap(\.self) ?? []).compactMap { name in
            guard name.hasPrefix(prefix), let epoch = Int64(name.dropFirst(prefix.count)),
                Self.path(NodeMemoryFile.name, epoch: epoch) == name
            else { return nil }
            return epoch
        }.sorted()
    }
}
