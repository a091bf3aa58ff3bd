import Fixtures
import Foundation
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct ScriptTests {
    @Test(.database) func `the SQL tests of the database directory pass`() async throws {
        let uri = try TestDatabase.current.uri()
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../db/test").standardizedFileURL.path
        let output = FileManager.default.temporaryDirectory.appendingPathComponent(TestServer.uniqueName("sql")).path
        defer { try? FileManager.default.removeItem(atPath: output) }
        let status = await Self.shell("'\(directory)/run' '\(uri)' >'\(output)' 2>&1 </dev/null")
        let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        #expect(status == 0, "\(text)")
        #expect(text.contains("passed"))
    }

    /// The exit status of a command, in the form of wait(2).
    private static func shell(_ command: String) async -> Int32 {
        // On a thread of its own, because it waits.
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: system(command)) }
        }
    }

    @Test(arguments: [
        (["0001_roles.sql", "0002_ledger.sql"], true), (["0001_roles.sql", "0003_ledger.sql"], false),
        (["0002_roles.sql"], false), (["0001_a.sql", "0001_b.sql"], false), (["0001_a.sql", "README.md"], false),
        (["0001_A.sql"], false), (["0001_.sql"], false), (["0001_a.txt"], false),
    ])
    func `the build refuses migrations that are not numbered without a gap`(names: [String], isTaken: Bool) async throws
    {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../db/embed").standardizedFileURL.path
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(TestServer.uniqueName("embed"))
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: "\(directory)/in", withIntermediateDirectories: true)
        for name in names {
            try "SELECT 1;\n".write(toFile: "\(directory)/in/\(name)", atomically: true, encoding: .utf8)
        }
        let status = await Self.shell("sh '\(script)' '\(directory)/in' '\(directory)/out' 2>'\(directory)/error'")
        #expect((status == 0) == isTaken)
        #expect(FileManager.default.fileExists(atPath: "\(directory)/out") == isTaken)
        let said = try String(contentsOfFile: "\(directory)/error", encoding: .utf8)
        #expect(said.hasPrefix("error: db/migrations/") != isTaken)
    }
}
