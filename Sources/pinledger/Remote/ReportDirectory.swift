import Crypto
import Foundation
import PinWire

/// The directory of a report: new files, and their SHA-256 in the form that `sha256sum --check` reads.
///
/// The files go to a directory beside it, which gets its name once all of them are there: a process that dies before
/// leaves that one behind, whose name ends in `.unfinished`.
final class ReportDirectory {
    private let name: String
    private let path: String
    private var sums: [String: String] = [:]

    /// Makes the directory.
    ///
    /// - Throws: ``CommandFailure`` where it is there already and has something in it, or cannot be made.
    init(_ path: String) throws {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.name = path
        self.path = "\(path).unfinished"
        let files = FileManager.default
        if let there = try? files.contentsOfDirectory(atPath: path), !there.isEmpty {
            throw CommandFailure(
                "\(path) is not empty", advice: "Name a directory that does not exist yet.", status: .usage)
        }
        guard !files.fileExists(atPath: self.path) else {
            throw CommandFailure(
                "\(self.path) is there: another command writes it, or one ended before its time",
                advice: "Remove it if no command writes it.", status: .usage)
        }
        do { try files.createDirectory(atPath: self.path, withIntermediateDirectories: true) } catch {
            throw CommandFailure("\(self.path) cannot be made: \(error.localizedDescription)")
        }
    }

    /// Writes a file.
    func write(_ bytes: [UInt8], to name: String) throws {
        let file = URL(fileURLWithPath: "\(self.path)/\(name)")
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file, options: .atomic)
        } catch {
            throw CommandFailure("\(file.path) cannot be written: \(error.localizedDescription)")
        }
        self.sums[name] = Hex.encode(sha256(bytes))
    }

    func write(_ text: String, to name: String) throws { try self.write(Array(text.utf8), to: name) }

    /// Writes a file piece by piece.
    ///
    /// - Parameter body: Gets a function that appends to the file.
    func write(to name: String, _ body: (([UInt8]) throws -> Void) async throws -> Void) async throws {
        let path = "\(self.path)/\(name)"
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw CommandFailure("\(path) cannot be written") }
        defer { try? file.close() }
        var hash = SHA256()
        try await body { bytes in
            let data = Data(bytes)
            hash.update(data: data)
            do { try file.write(contentsOf: data) } catch {
                throw CommandFailure("\(path) cannot be written: \(error.localizedDescription)")
            }
        }
        self.sums[name] = Hex.encode(Array(hash.finalize()))
    }

    /// Writes `SHA256SUMS`, and gives the directory its name.
    func finish() throws {
        let lines = self.sums.sorted { $0.key < $1.key }.map { "\($0.value)  \($0.key)\n" }
        try self.write(lines.joined(), to: "SHA256SUMS")
        let files = FileManager.default
        do {
            // Removes an empty one, and nothing else.
            rmdir(self.name)
            try files.moveItem(atPath: self.path, toPath: self.name)
        } catch {
            throw CommandFailure("\(self.name) cannot be made: \(error.localizedDescription)")
        }
    }

    /// Removes what was written.
    func discard() { try? FileManager.default.removeItem(atPath: self.path) }
}
