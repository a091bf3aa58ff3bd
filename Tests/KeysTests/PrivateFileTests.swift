import Foundation
import Keys
import Testing

@Suite struct PrivateFileTests {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("private-\(UUID())").path

    init() throws {
        try FileManager.default.createDirectory(atPath: self.directory, withIntermediateDirectories: true)
    }

    @Test func aWrittenFileIsReadBackAndBelongsToItsOwnerAlone() throws {
        defer { try? FileManager.default.removeItem(atPath: self.directory) }
        let path = "\(self.directory)/key"
        for text in ["first", "", String(repeating: "x", count: 100_000)] {
            try PrivateFile.write(Array(text.utf8), to: path)
            #expect(try PrivateFile.read(path) == Array(text.utf8))
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.directory) == ["key"])
    }

    @Test(arguments: [0o644, 0o604, 0o620, 0o660, 0o650, 0o601, 0o777])
    func aFileThatOthersHaveARightToIsRefused(mode: Int) throws {
        defer { try? FileManager.default.removeItem(atPath: self.directory) }
        let path = "\(self.directory)/key"
        try PrivateFile.write([1], to: path)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        #expect(throws: PrivateFile.Failure.open(mode: UInt16(mode))) { try PrivateFile.read(path) }
    }

    @Test func `a private file that its group may read is refused unless it is root's`() throws {
        defer { try? FileManager.default.removeItem(atPath: self.directory) }
        let path = "\(self.directory)/key"
        try PrivateFile.write([1], to: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        if geteuid() == 0 {
            #expect(try PrivateFile.read(path) == [1])
        } else {
            #expect(throws: PrivateFile.Failure.open(mode: 0o640)) { try PrivateFile.read(path) }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func aFileOfAnotherUserIsRefused() throws {
        defer { try? FileManager.default.removeItem(atPath: self.directory) }
        let path = "\(self.directory)/key"
        try PrivateFile.write([1], to: path)
        #expect(chown(path, 65534, 65534) == 0)
        #expect(throws: PrivateFile.Failure.foreign(owner: 65534)) { try PrivateFile.read(path) }
    }

    @Test func whatIsNoFileOrTooLargeIsRefused() throws {
        defer { try? FileManager.default.removeItem(atPath: self.directory) }
        #expect(throws: PrivateFile.Failure.notAFile) { try PrivateFile.read(self.directory) }
        #expect(throws: PrivateFile.Failure.notAFile) { try PrivateFile.read("/dev/zero") }
        let path = "\(self.directory)/key"
        try PrivateFile.write([UInt8](repeating: 7, count: 11), to: path)
        #expect(throws: PrivateFile.Failure.tooLarge(limit: 10)) { try PrivateFile.read(path, atMost: 10) }
        #expect(try PrivateFile.read(path, atMost: 11).count == 11)
        guard
            case .unreadable = #expect(
                throws: PrivateFile.Failure.self, performing: { try PrivateFile.read("\(path)?") })
        else { Issue.record("a missing file is unreadable"); return }
    }

    @Test func aFileThatCannotBeReplacedStays() throws {
        defer { try? FileManager.default.removeItem(atPath: self.directory) }
        // A directory stands where the file is to be.
        let path = "\(self.directory)/key"
        try FileManager.default.createDirectory(atPath: "\(path)/in", withIntermediateDirectories: true)
        guard
            case .unwritable = #expect(
                throws: PrivateFile.Failure.self, performing: { try PrivateFile.write([1], to: path) })
        else { Issue.record("a directory cannot be replaced by a file"); return }
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.directory) == ["key"])
    }
}
