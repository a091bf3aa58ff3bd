import Foundation
import Testing

@testable import pinledger

@Suite struct `The server that a directory names` {
    /// The server of a directory whose context file has these members.
    private func named(_ text: String) throws -> DirectoryServer? {
        let directory = FileManager.default.temporaryDirectory.appending(path: "pinledger-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = "\(directory)/context.json"
        try #require(
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
        return try DirectoryServer(directory: directory)
    }

    @Test(arguments: [
        "https://pins.example.com", "http://0.0.0.0:8440", "https://127.0.0.1@pins.example.com",
        "https://localhost.example.com", "https://127.0.0.1.example.com", "https://[::2]", "nonsense", "",
    ])
    func `another machine gets the token beside it alone`(server: String) throws {
        let found = try #require(try self.named(#"{"server":"\#(server)","token":"pk_own"}"#))
        try found.check(nil)
        try found.check("pk_own")
        for other in ["pk_other", ""] {
            let failure = #expect(throws: CommandFailure.self) { try found.check(other) }
            #expect(failure?.message.contains(found.directory) == true)
            #expect(failure?.message.contains("pk_") == false)
        }
        #expect(try self.named(#"{"server":"\#(server)"}"#) == nil)
    }

    @Test(arguments: ["http://127.0.0.1:8440", "http://localhost:1", "https://[::1]:8440", "http://127.9.9.9"])
    func `a server of this machine gets any token`(server: String) throws {
        let found = try #require(try self.named(#"{"server":"\#(server)"}"#))
        try found.check("pk_other")
        try found.check(nil)
        #expect(found.context.server == server)
    }

    @Test(arguments: ["", "{}", "[]", #"{"token":"pk_own"}"#, #"{"server":1}"#])
    func `a file without a server names none`(text: String) throws { #expect(try self.named(text) == nil) }
}
