/// The names that an entry covers, relative to the name that it is written under.
struct Reach: OptionSet, Hashable {
    let rawValue: UInt8

    /// The name itself.
    static let own = Reach(rawValue: 1)
    /// Names of exactly one more label.
    static let below = Reach(rawValue: 2)
    /// Names of two or more further labels.
    static let deeper = Reach(rawValue: 4)

    static let all: Reach = [.own, .below, .deeper]
    /// The single members, in order.
    static let parts: [Reach] = [.own, .below, .deeper]

    /// The member for names of `labels` further labels.
    init(labels: Int) {
        self = labels == 0 ? .own : labels == 1 ? .below : .deeper
    }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The member that corresponds to the single member `part` of a name `labels` labels below this one.
    static func place(of part: Reach, labels: Int) -> Reach {
        switch part {
        case .own: Reach(labels: labels)
        case .below: Reach(labels: labels + 1)
        default: Reach(labels: labels + 2)
        }
    }

    /// In words, for a name.
    func words(of name: String) -> String {
        var words: [String] = []
        if self.contains(.own) { words.append(name) }
        switch self.subtracting(.own) {
        case [.below, .deeper]: words.append("names below \(name)")
        case .below: words.append("names one label below \(name)")
        case .deeper: words.append("names two or more labels below \(name)")
        default: break
        }
        return words.joined(separator: " and ")
    }
}
