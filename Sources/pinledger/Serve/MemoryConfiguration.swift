import Foundation
import Keys
import Pinning
import TransparencyLog

/// What a node knows of the ledger from outside the database.
struct MemoryConfiguration: Sendable {
    /// The absolute path of the directory in which the node remembers; nil where it remembers nothing.
    var directory: String?
    /// The checkpoint that the ledger has to continue, besides the node's own memory.
    var expected: ExpectedCheckpoint?
    /// True where a node that remembers nothing takes the database's ledger for the right one, and an end that nothing
    /// authenticates gets this node's MAC.
    var trustsDatabase: Bool
    /// True where a new epoch is to begin with the database's events, whatever other nodes remember.
    var isRecovered = false

    /// Reads the settings and the checkpoint.
    init(_ settings: Settings, trustsDatabase: Bool) throws {
        self.directory = Self.directory(settings)
        self.expected = try settings.text(.expectCheckpoint).map(Self.expected)
        self.trustsDatabase = trustsDatabase
    }

    /// The absolute path of the state directory.
    static func directory(_ settings: Settings) -> String? {
        settings.text(.stateDirectory).map { URL(fileURLWithPath: $0).standardizedFileURL.path }
    }

    private static func expected(_ place: String) throws -> ExpectedCheckpoint {
        if place == "witnesses" { return .witnesses }
        guard place.hasPrefix("https://") || place.hasPrefix("http://") else {
            return .known(try Self.checkpoint(place))
        }
        do { return .address(try OutgoingURL(place)) } catch {
            throw CommandFailure(
                "\(place) is not the address of a checkpoint: it \(error.description)", status: .usage)
        }
    }

    /// The checkpoint in a file. Who gives the file vouches for it: its signatures are not checked.
    private static func checkpoint(_ path: String) throws -> Checkpoint {
        let bytes: [UInt8]
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            bytes = Array(try file.read(upToCount: SignedNote.maximumSize + 1) ?? Data())
        } catch {
            throw GivenFile.unreadable(path, "the checkpoint", status: .failure)
        }
        do { return try Checkpoint(text: SignedNote(bytes).text) } catch {
            throw CommandFailure(
                "\(path) is not a checkpoint: \(error)", advice: "Give a file that `pinledger audit checkpoint` wrote.")
        }
    }
}

/// Where the checkpoint is that the ledger has to go on from.
enum ExpectedCheckpoint: Sendable {
    /// It was in a file.
    case known(Checkpoint)
    /// At this address, with the log's signature.
    case address(OutgoingURL)
    /// The witnesses that the ledger names have it.
    case witnesses
}
