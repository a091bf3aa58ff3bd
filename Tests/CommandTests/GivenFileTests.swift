import Foundation
import Testing

@testable import pinledger

@Suite struct `A file that an operator names` {
    private static func inDirectory<R>(_ body: (String) throws -> R) throws -> R {
        let directory = FileManager.default.temporaryDirectory.appending(path: "pinledger-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        return try body(directory)
    }

    private static func message(_ body: () throws -> Void) -> String? {
        do { try body() } catch let failure as CommandFailure { return failure.message } catch { return "\(error)" }
        return nil
    }

    @Test func `a missing file is named as one by each reader`() throws {
        try Self.inDirectory { directory in
            let path = "\(directory)/none.pem"
            for read in [
                { _ = try GivenFile.data(path) }, { _ = try KeyInput.read(path) }, { _ = try KeyInput(path) },
                { _ = try KeyInput.existing(path) }, { _ = try YAMLFile(path: path) },
                { _ = try RootFile.read(path) }, { _ = try RootFile.publicKey(path) },
                { _ = try APICommand.bytes(of: path) },
            ] as [() throws -> Void] {
                #expect(Self.message(read) == "no such file: \(path)")
            }
            let trust = Self.message { _ = try ServerTrust.authorities(file: path).configuration() }
            #expect(trust == "the certification authorities cannot be read: no such file: \(path)")
            #expect(GivenFile.unreadable(directory).message == "\(directory) cannot be read: it is a directory")
            #expect(
                GivenFile.unreadable(path, "the checkpoint").message
                    == "the checkpoint cannot be read from \(path): no such file")
        }
    }

    @Test func `a text that is meant as a pin is called no file`() {
        for text in ["sha256/abc", "AAAA", "Zm9v/YmFy"] {
            let message = Self.message { _ = try KeyInput(text) }
            #expect(message?.contains("no such file") == false && message?.hasPrefix(text) == true, "\(text)")
        }
    }

    /// One reader says what is wrong with a file; others read what no operator named.
    @Test func `commands read files in one place`() throws {
        let others = [
            "GivenFile.swift", "AuditVerifyCommand.swift", "LogExportCommand.swift", "EdgeExportCommand.swift",
            "PrivateDatabase.swift", "Subprocess.swift",
        ]
        for (path, text) in try SourceTexts.swift()
        where path.hasPrefix("pinledger/") && !others.contains(where: path.hasSuffix) {
            #expect(!text.contains("FileManager.default.contents(atPath:"), "\(path)")
        }
    }

    private static let keys = [
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n"
    ]

    @Test(arguments: keys) func `a private key in place of a public one is not sent, and the refusal says so`(
        key: String
    ) throws {
        try Self.inDirectory { directory in
            let path = "\(directory)/key.pem"
            try Data(key.utf8).write(to: URL(fileURLWithPath: path))
            let message = try #require(Self.message { _ = try KeyInput(path) })
            #expect(message.hasPrefix("\(path): ") && message.contains("private key"), "\(message)")
            #expect(message.contains("Nothing was sent."), "\(message)")
            for word in ["upload", "exposed", "What was sent"] { #expect(!message.contains(word), "\(message)") }
            #expect(Self.message { _ = try RootFile.publicKey(path) }?.contains("nothing was sent") == true)
        }
    }
}
