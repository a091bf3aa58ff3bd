import PinWire

/// Documents of random cases that reach every reason, chosen so that each reason is there several times.
struct DecisionVectors {
    /// Random documents that are looked through.
    private static let looked = 300
    /// Questions with the same reason and outcome that are kept.
    private static let kept = 2

    var file: VectorFile {
        get throws {
            var random = RandomDecisions(seed: 20)
            let runner = Runner(decidesAsServer: false)
            var seen: [String: Int] = [:]
            var cases: [JSON] = []
            for number in 0..<Self.looked {
                guard case .object(var members) = try random.next(questions: 50),
                    let decisions = try runner.answer(JSON.object(members).canonicalText)["decisions"]?.arrayValue
                else { continue }
                let questions = zip(members["questions"]?.arrayValue ?? [], decisions).filter { _, decision in
                    let sort =
                        "\(decision["reason"]?.stringValue ?? "") \(decision["outcome"]?.stringValue ?? "") \(decision["verdict"]?.stringValue ?? "")"
                    seen[sort, default: 0] += 1
                    return seen[sort, default: 0] <= Self.kept
                }
                guard !questions.isEmpty else { continue }
                members["name"] = .string("document \(number)")
                members["questions"] = .array(questions.map(\.0))
                cases.append(.object(members))
            }
            return VectorFile(
                name: "decide",
                about: "What devices get, and what becomes of a connection: handbook page client-integration, Decide.",
                cases: cases)
        }
    }
}
