// Does one piece of the product's work again and again: CostMeter --list | CostMeter NAME
//
// `Tests/Cost/run` runs it under callgrind, which counts the instructions between the two marks. Everything before the first mark makes
// the work's input and does the work some times, so that what happens only once in a process is over. The same work costs the same
// instructions in every run: seeds and clock are fixed.
import Glibc
import NIOCore

func fail(_ why: String) -> Never {
    print(why)
    exit(64)
}

let works = Works.all

guard CommandLine.arguments.count == 2, let name = CommandLine.arguments.last else {
    fail("usage: CostMeter --list | CostMeter NAME")
}
if name == "--list" {
    for work in works { print(work.name, work.count) }
    exit(0)
}
guard let work = works.first(where: { $0.name == name }) else { fail("there is no work \(name)") }

// One event loop, however many cores the machine has.
NIOSingletons.groupLoopCountSuggestion = 1
NIOSingletons.blockingPoolThreadCountSuggestion = 1

let perform = try work.make()
var sum = 0
var turns = 0..<work.count * work.rounds
for turn in turns { sum &+= try perform(turn) }
for _ in 0..<work.rounds {
    turns = turns.upperBound..<turns.upperBound + work.count
    costMeteringBegins()
    for turn in turns { sum &+= try perform(turn) }
    costMeteringEnds()
}
print(sum)
// Not to the end of `main`, which takes apart what was made.
exit(0)
