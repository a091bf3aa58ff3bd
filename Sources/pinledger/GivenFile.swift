import Foundation
import Keys

/// Files that an operator names on the command line.
enum GivenFile {
    /// The contents of a file.
    ///
    /// - Parameter takesInput: Whether `-` stands for standard input.
    static func data(
        _ path: String, takesInput: Bool = false, status: ExitStatus = .usage
    ) throws(CommandFailure) -> Data {
        if takesInput, path == "-" { return FileHandle.standardInput.readDataToEndOfFile() }
        guard let data = FileManager.default.contents(atPath: path) else { throw Self.unreadable(path, status: status) }
        return data
    }

    /// The failure of a command that tried in vain to read a file.
    ///
    /// - Parameter what: What should be in it, with an article; nil where that goes without saying.
    static func unreadable(_ path: String, _ what: String? = nil, status: ExitStatus = .usage) -> CommandFailure {
        let reason = Self.reason(path)
        guard let what else {
            let isMissing = reason == Self.missing
            return CommandFailure(
                isMissing ? "\(reason): \(path)" : "\(path) cannot be read: \(reason)", status: status)
        }
        return CommandFailure("\(what) cannot be read from \(path): \(reason)", status: status)
    }

    /// Why a file cannot be read, which was tried in vain.
    static func reason(_ path: String) -> String {
        guard PrivateFile.exists(path) else { return Self.missing }
        var isDirectory: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
        return isThere && isDirectory.boolValue ? "it is a directory" : "its permissions may forbid it"
    }

    private static let missing = "no such file"
}
