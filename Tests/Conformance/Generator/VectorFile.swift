import PinWire

/// One file of vectors: cases by hand, each with what the library answers.
///
/// The answers are computed here, and reviewed where they change: the tests compare the files with what is made.
struct VectorFile {
    let name: String
    let about: String
    /// Each with a `name` that says what it is.
    let cases: [JSON]

    /// All files, in order.
    static func all() throws -> [VectorFile] {
        [
            try VerificationVectors().file, try DecisionVectors().file, VersionVectors.file, try ReportVectors.file(),
            try RootVectors().file,
        ]
    }

    /// The file's text: one case on a line, so that a change shows as one.
    var bytes: [UInt8] {
        get throws {
            let runner = Runner(decidesAsServer: false)
            let lines = try self.cases.map { one -> String in
                guard case .object(var members) = one else { return one.canonicalText }
                members["expected"] = try runner.answer(one.canonicalText)
                return JSON.object(members).canonicalText
            }
            let head = "{\"about\":\(JSON.string(self.about).canonicalText),\n\"cases\":[\n"
            return Array((head + lines.joined(separator: ",\n") + "\n]}\n").utf8)
        }
    }
}
