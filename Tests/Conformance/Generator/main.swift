// Makes the conformance kit's vectors and random cases, and answers cases with the library:
//
//     ConformanceGenerator vectors DIRECTORY
//     ConformanceGenerator random verify|decide|root COUNT SEED
//     ConformanceGenerator answer [server]
//
// `answer` is a runner as README.md describes it. With `server`, `decide` is answered by the document that the server makes for the
// device, without the reasons.
import Foundation
import PinWire

func fail(_ words: String) -> Never {
    FileHandle.standardError.write(Data("\(words)\n".utf8))
    exit(2)
}

/// Writes a line, in blocks: a line by itself for each case would be slow.
struct Output {
    private var bytes: [UInt8] = []

    mutating func line(_ json: JSON) {
        self.bytes += json.canonicalBytes
        self.bytes.append(UInt8(ascii: "\n"))
        if self.bytes.count > 1 << 20 { self.flush() }
    }

    mutating func flush() {
        FileHandle.standardOutput.write(Data(self.bytes))
        self.bytes = []
    }
}

let arguments = Array(CommandLine.arguments.dropFirst())
var output = Output()
switch (arguments.first, arguments.count) {
case ("vectors", 2):
    for file in try VectorFile.all() {
        try Data(try file.bytes).write(to: URL(filePath: arguments[1]).appending(path: "\(file.name).json"))
    }
case ("random", 4):
    guard let count = Int(arguments[2]), let seed = UInt64(arguments[3]) else { fail("COUNT and SEED are numbers") }
    switch arguments[1] {
    case "verify":
        var cases = RandomVerification(seed: seed)
        for number in 0..<count { output.line(try cases.next(number)) }
    case "decide":
        var cases = RandomDecisions(seed: seed)
        var left = count
        while left > 0 {
            let questions = min(left, 50)
            output.line(try cases.next(questions: questions))
            left -= questions
        }
    case "root":
        var cases = RandomRoots(seed: seed)
        for number in 0..<count { output.line(try cases.next(number)) }
    default: fail("random makes cases of verify, decide or root")
    }
case ("answer", 1), ("answer", 2):
    let runner = Runner(decidesAsServer: arguments.last == "server")
    while let line = readLine(strippingNewline: true) {
        // A line that is no case does not keep the others from being answered.
        do { output.line(try runner.answer(line)) } catch { output.line(["error": .string("\(error)")]) }
    }
default: fail("see the top of Tests/Conformance/Generator/main.swift")
}
output.flush()
