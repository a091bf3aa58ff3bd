import Foundation
import SeededRandom
import Testing

/// Whatever strangers send is read in a time that grows linearly with its size, and traps nowhere.
///
/// `FUZZ_COUNT` makes more damaged inputs for each reader, `FUZZ_SEED` others; `FUZZ_SAVE` names a file that holds the
/// input that is being read, for when one ends the process. Thread by thread: processor time is measured.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct `What comes from outside` {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = Self.environment["FUZZ_COUNT"].flatMap { Int($0) } ?? (TestDepth.isFull ? 150 : 50)
    private static let seed = Self.environment["FUZZ_SEED"].flatMap { UInt64($0) } ?? 1

    @Test(arguments: InputReader.all)
    func `every reader of outside input survives any damage without a trap`(reader: InputReader) throws {
        for index in 0..<Self.count {
            var random = SeededGenerator(seed: Self.seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index))
            let seeds = reader.seeds + reader.frames.map { $0.around(Array("x".utf8)) }
            let input = Damage.input(from: seeds, &random)
            if let path = Self.environment["FUZZ_SAVE"] { try Data(input).write(to: URL(filePath: path)) }
            reader.read(input)
        }
    }

    /// Texts that are slow to compare, and what formats nest, escape or split by.
    private static let units = [
        "\u{301}\u{316}", "\u{F73}\u{301}", "\u{1F1E6}", "\u{1F468}\u{200D}", "a\u{301}\u{316}", "a", "\"", "\\",
        ",", "/", "a=1&", "[", "{\"a\":", "\"a\",", "<a>", "<a/>", "<!---->", "&#x301;&#x316;", ";", " ", "\n",
        "-----BEGIN ", "a@1@1 ", "\\u0301\\u0316", "<key>a</key><true/>",
    ]
    private static let small = 5 * 1024
    private static let growth = 4
    /// For four times the bytes; a time that grows with the square gives 16.
    private static let longest = 8.0
    /// Less than this is not told apart from what the machine does by itself.
    private static let floor = 0.003

    @Test(arguments: InputReader.all)
    func `every reader of outside input takes time that grows linearly`(reader: InputReader) {
        for (frame, form) in reader.frames.enumerated() {
            for unit in Self.units {
                let bytes = Array(unit.utf8)
                func input(_ size: Int) -> [UInt8] {
                    form.around(Array(Array(repeating: bytes, count: size / bytes.count).joined()))
                }
                let large = input(Self.small * Self.growth)
                // Most are quick, which is enough to know of them.
                guard ProcessorTime.seconds({ reader.read(large) }) > Self.floor * Self.longest else { continue }
                let small = input(Self.small)
                let seconds = ProcessorTime.seconds(turns: 3) { reader.read(large) }
                let least = max(ProcessorTime.seconds(turns: 3) { reader.read(small) }, Self.floor)
                #expect(
                    seconds <= Self.longest * least,
                    """
                    \(unit.debugDescription) in frame \(frame): \(seconds) s for \(large.count) bytes, \
                    \(least) s for \(small.count)
                    """
                )
            }
        }
    }
}
