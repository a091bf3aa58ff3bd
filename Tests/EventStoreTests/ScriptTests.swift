import Fixtures
import Foundation
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(5)))
struct ScriptTests {
    @Test(.database) func `the SQL tests of db slash test pass`() async throws {
        let uri = try TestDatabase.current.uri()
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../db/test").standardizedFileURL.path
        let output = FileManager.default.temporaryDirectory.appendingPathComponent(TestServer.uniqueName("sql")).path
        defer { try? FileManager.default.removeItem(atPath: output) }
        let command = "'\(directory)/run' '\(uri)' >'\(output)' 2>&1 </dev/null"
        // On a thread of its own, because it waits.
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: system(command)) }
        }
        let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        #expect(status == 0, "\(text)")
        #expect(text.contains("passed"))
    }
}
