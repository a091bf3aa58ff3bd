import Crypto
import Foundation
import PinWire

/// The directory of a report: new files, and their SHA-256 in the form that `sha256sum --check` reads.
final class ReportDirectory {
    private let path: String
    private var sums: [String: String] = [:]

    /// Makes the directory.
    ///
    /// - Throws: ``CommandFailure`` where it is there already and has something in it, or cannot be made.
    init(_ path: String) throws {
        self.path = path
        let files = FileManager.default
        if let there = try? files.contentsOfDirectory(atPath: path), !there.isEmpty {
            throw CommandFailure(
                "\(path) is not empty", advice: "Name a directory that does not exist yet.", status: .usage)
        }
        do { try files.createDirectory(atPath: path, withIntermediateDirectories: true) } catch {
            throw CommandFailure("\(path) cannot be made: \(error.localizedDescription)")
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

    /// Writes `SHA256SUMS`, last.
    func finish() throws {
        let lines = self.sums.sorted { $0.key < $1.key }.map { "\($0.value)  \($0.key)\n" }
        try self.write(lines.joined(), to: "SHA256SUMS")
    }
}
