/// Which names an entry stands for, seen from the name that it is written under.
package struct NameReach: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    /// The name itself.
    package static let own = NameReach(rawValue: 1)
    /// Names of exactly one more label.
    package static let below = NameReach(rawValue: 2)
    /// Names of two or more further labels.
    package static let deeper = NameReach(rawValue: 4)

    package static let all: NameReach = [.own, .below, .deeper]
    /// The single members, in order.
    package static let parts: [NameReach] = [.own, .below, .deeper]

    /// Which of them stands for names of `labels` further labels.
    package init(labels: Int) {
        self = labels == 0 ? .own : labels == 1 ? .below : .deeper
    }

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Where the single member `part` of a name lies that is `labels` labels below this one's.
    package static func place(of part: NameReach, labels: Int) -> NameReach {
        switch part {
        case .own: NameReach(labels: labels)
        case .below: NameReach(labels: labels + 1)
        default: NameReach(labels: labels + 2)
        }
    }

    /// In words, of a name.
    package func words(of name: String) -> String {
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
