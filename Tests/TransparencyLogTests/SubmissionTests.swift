import PinWire
import Testing
import TransparencyLog

@Suite struct `Submissions to witnesses` {
    private let checkpoint = Array("log\n7\nroot\n\n\u{2014} log sig\n".utf8)

    @Test func `a submission is the old size, the proof and the checkpoint`() throws {
        let hashes = [LogHash([UInt8](repeating: 0, count: 32)), LogHash([UInt8](repeating: 255, count: 32))]
        let submission = CheckpointSubmission(
            oldSize: 3, hashes: hashes.compactMap { $0 }, checkpoint: self.checkpoint)
        let zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        let ones = "//////////////////////////////////////////8="
        #expect(submission.encoded == Array("old 3\n\(zeros)\n\(ones)\n\n".utf8) + self.checkpoint)
    }

    @Test func `the first submission has no proof`() {
        let submission = CheckpointSubmission(oldSize: 0, hashes: [], checkpoint: self.checkpoint)
        #expect(submission.encoded == Array("old 0\n\n".utf8) + self.checkpoint)
    }

    @Test(arguments: [
        ("20852014\n", 20_852_014), ("0\n", 0), ("18446744073709551615\n", UInt64.max), ("7", nil), ("\n", nil),
        ("", nil),
        ("07\n", nil), ("-7\n", nil), ("7\n\n", nil), ("18446744073709551616\n", nil), ("seven\n", nil),
    ])
    func `the size in a refusal is read to the letter`(text: String, size: UInt64?) {
        #expect(CheckpointSubmission.size(in: Array(text.utf8)) == size)
    }
}
