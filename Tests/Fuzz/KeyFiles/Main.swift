import Foundation
import KeyFiles
import PinWire

/// Gives `Upload.read` damaged uploads, always the same ones for the same seed.
///
///     KeyFilesFuzz CORPUS [--count 100000] [--seed 1] [--only INDEX] [--save FILE]
///
/// Built with AddressSanitizer, it ends with a report at the first bad access, and lists leaks at its end. The input
/// that is being read is in the file at all times.
@main
struct KeyFilesFuzz {
    static func main() {
        do {
            try self.run(CommandLine.arguments.dropFirst())
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func run(_ arguments: ArraySlice<String>) throws {
        var arguments = Array(arguments)
        func option(_ name: String) -> String? {
            guard let place = arguments.firstIndex(of: name), place + 1 < arguments.count else { return nil }
            defer { arguments.removeSubrange(place...(place + 1)) }
            return arguments[place + 1]
        }
        let count = option("--count").flatMap(Int.init) ?? 100_000
        let seed = option("--seed").flatMap(UInt64.init) ?? 1
        let only = option("--only").flatMap(Int.init)
        let save = option("--save") ?? "fuzz-input"
        guard let folder = arguments.first else {
            throw Failure("usage: KeyFilesFuzz CORPUS [--count N] [--seed N]")
        }

        let corpus = try Corpus(folder: URL(filePath: folder))
        var check = try Check(save: URL(filePath: save))
        if let only {
            try check.run(corpus.input(only, seed: seed), name: "input \(only) of seed \(seed)")
            print("input \(only) of seed \(seed): \(check.summary)")
            return
        }
        print("\(corpus.files.count) files, seed \(seed)")
        for (name, bytes) in corpus.files { try check.run(bytes, name: name) }
        for (name, bytes) in LargeInputs.all { try check.run(bytes, name: name) }
        print("as they are, and large: \(check.summary)")

        let start = ContinuousClock.now
        // By then everything that is kept for good has been made.
        var residentBefore = 0
        for index in 0..<count {
            try check.run(corpus.input(index, seed: seed), name: "input \(index) of seed \(seed)")
            if index == count / 5 { residentBefore = try Memory.resident() }
            if (index + 1).isMultiple(of: 10_000) { print("\(index + 1): \(check.summary)") }
        }
        let grown = try Memory.resident() - residentBefore
        print(
            "\(count) inputs in \(start.duration(to: .now)); memory grew by \(grown >> 20) MiB after the first fifth, "
                + "\(try Memory.peak() >> 20) MiB at most")
        guard grown < 64 << 20 else { throw Failure("memory grows") }
        try FileManager.default.removeItem(atPath: save)
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// What must hold of every input.
struct Check {
    private let file: FileHandle
    private var readCount = 0
    private var refusals: [String: Int] = [:]
    private var slowest: (duration: Duration, name: String) = (.zero, "")

    init(save: URL) throws {
        try Data().write(to: save)
        self.file = try FileHandle(forUpdating: save)
    }

    /// How many were read, and how many were refused for what.
    var summary: String {
        let refused = self.refusals.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return "read \(self.readCount), \(refused.joined(separator: ", ")); slowest \(self.slowest)"
    }

    mutating func run(_ bytes: [UInt8], name: String) throws {
        try self.file.seek(toOffset: 0)
        try self.file.write(contentsOf: bytes)
        try self.file.truncate(atOffset: UInt64(bytes.count))
        let start = ContinuousClock.now
        let first = try self.read(bytes, name)
        let duration = start.duration(to: .now)
        if duration > self.slowest.duration { self.slowest = (duration, name) }
        guard duration < .seconds(20) else { throw Failure("\(name) takes \(duration)") }
        guard try self.read(bytes, name) == first else { throw Failure("\(name) is read in two ways") }
        switch first {
        case .success(let upload):
            self.readCount += 1
            guard !upload.items.isEmpty, upload.items.count <= Upload.maximumCount else {
                throw Failure("\(name) has \(upload.items.count) items")
            }
            for case .certificate(let facts) in upload.items {
                let json = try JSON(parsing: facts.json.canonicalBytes)
                guard try CertificateFacts(JSONField(json)) == facts else {
                    throw Failure("\(name) is stored as something else")
                }
            }
        case .failure(let error):
            // The case's name.
            self.refusals[String("\(Mirror(reflecting: error).children.first?.label ?? "plain")"), default: 0] += 1
            guard error.description.utf8.count < 1000 else { throw Failure("\(name) has too much said about it") }
        }
    }

    private func read(_ bytes: [UInt8], _ name: String) throws -> Result<Upload, UploadError> {
        var bytes = bytes
        do throws(UploadError) {
            return .success(try Upload.read(&bytes))
        } catch {
            guard bytes.allSatisfy({ $0 == 0 }) else { throw Failure("\(name) was refused and not overwritten") }
            return .failure(error)
        }
    }
}

/// What the system says of this process.
enum Memory {
    /// Bytes.
    static func resident() throws -> Int { try self.field("VmRSS:") }

    static func peak() throws -> Int { try self.field("VmHWM:") }

    private static func field(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
            let number = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
        else { throw Failure("no \(name) in /proc/self/status") }
        return number << 10
    }
}
