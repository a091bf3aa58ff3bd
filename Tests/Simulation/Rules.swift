import Pinning

/// A rule that looks at a stream of installs, one after the other, until it fires.
enum Rule {
    /// Fires where at least `fewest[n]` of the first n installs failed.
    case boundary([Int])
    case cusum(BernoulliCUSUM)

    /// One that looks only at every `stride`-th install, and first at `from`.
    static func looking(
        upTo limit: Int, from: Int = 1, every stride: Int = 1, _ fires: (_ failing: Int, _ installs: Int) -> Bool
    ) -> Rule {
        var fewest = [Int](repeating: .max, count: limit + 1)
        var failing = 0
        for n in 1...limit where n >= from && n.isMultiple(of: stride) {
            // More installs never need fewer failures.
            while failing <= n, !fires(failing, n) { failing += 1 }
            if failing <= n { fewest[n] = failing }
        }
        return .boundary(fewest)
    }

    /// Wald's sequential probability ratio test of two shares (Ann. Math. Stat. 1945).
    static func ratio(_ low: Double, _ high: Double, limit: Double, upTo count: Int) -> Rule {
        let steps = BernoulliCUSUM(accepted: low, suspected: high, limit: limit)
        return .looking(upTo: count) { steps.sum(failing: $0, of: $1) >= limit }
    }
}

/// When each of some rules fired first in one stream; nil for never.
struct Run {
    private var rules: [Rule]
    private(set) var fired: [Int?]
    private var failing = 0
    private var installs = 0

    init(_ rules: [Rule]) {
        self.rules = rules
        self.fired = Array(repeating: nil, count: rules.count)
    }

    var isOver: Bool { self.fired.allSatisfy { $0 != nil } }

    mutating func add(isFailure: Bool) {
        self.installs += 1
        if isFailure { self.failing += 1 }
        for place in self.rules.indices where self.fired[place] == nil {
            switch self.rules[place] {
            case .boundary(let fewest):
                if self.failing >= fewest[self.installs] { self.fired[place] = self.installs }
            case .cusum(var cusum):
                cusum.add(isFailure: isFailure)
                self.rules[place] = .cusum(cusum)
                if cusum.fires { self.fired[place] = self.installs }
            }
        }
    }
}
