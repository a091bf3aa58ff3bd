import PinWire

/// The lines that differ between two texts, by their shortest edit script (Myers 1986).
struct LineDifference {
    private enum Line {
        case both(String)
        case removed(String)
        case added(String)

        var text: String {
            switch self {
            case .both(let text): " " + text
            case .removed(let text): "-" + text
            case .added(let text): "+" + text
            }
        }

        var isBoth: Bool { if case .both = self { true } else { false } }
        var isOfFirst: Bool { if case .added = self { false } else { true } }
        var isOfSecond: Bool { if case .removed = self { false } else { true } }
    }

    private var lines: [Line] = []

    /// The most lines that are compared one by one. The memory for that grows with the square of those that differ; beyond it,
    /// all between the first and the last difference counts as replaced.
    static let limit = 4000

    init(_ first: [String], _ second: [String]) {
        let start = zip(first, second).prefix { $0 == $1 }.count
        let end = zip(first[start...].reversed(), second[start...].reversed()).prefix { $0 == $1 }.count
        let (left, right) = (first[start..<first.count - end], second[start..<second.count - end])
        self.lines = first[..<start].map { .both($0) }
        if left.count + right.count > Self.limit {
            self.lines += left.map { .removed($0) } + right.map { .added($0) }
        } else {
            self.compare(Array(left), Array(right))
        }
        self.lines += first[(first.count - end)...].map { .both($0) }
    }

    private mutating func compare(_ first: [String], _ second: [String]) {
        var (removed, added) = (Set<Int>(), Set<Int>())
        for change in second.difference(from: first) {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): added.insert(offset)
            }
        }
        var (left, right) = (0, 0)
        while left < first.count || right < second.count {
            if removed.contains(left) {
                self.lines.append(.removed(first[left]))
                left += 1
            } else if added.contains(right) {
                self.lines.append(.added(second[right]))
                right += 1
            } else {
                self.lines.append(.both(first[left]))
                (left, right) = (left + 1, right + 1)
            }
        }
    }

    /// The differences in the unified format of diff (POSIX), with three lines around each; nothing where there are none.
    func unified(_ first: String, _ second: String) -> [String] {
        let context = 3
        var text: [String] = []
        var (left, right, index) = (1, 1, 0)
        while index < self.lines.count {
            guard let change = self.lines[index...].firstIndex(where: { !$0.isBoth }) else { break }
            let start = max(index, change - context)
            (left, right) = (left + start - index, right + start - index)
            // The hunk goes on while the next change is near enough to share its context.
            var end = change
            while let next = self.lines[end...].firstIndex(where: { !$0.isBoth }), next - end <= 2 * context {
                end = next + 1
            }
            let hunk = self.lines[start..<min(self.lines.count, end + context)]
            let counts = (hunk.count(where: \.isOfFirst), hunk.count(where: \.isOfSecond))
            text.append("@@ -\(Self.range(left, counts.0)) +\(Self.range(right, counts.1)) @@")
            text += hunk.map(\.text)
            (left, right, index) = (left + counts.0, right + counts.1, hunk.endIndex)
        }
        return text.isEmpty ? [] : ["--- \(first)", "+++ \(second)"] + text
    }

    /// A range of lines: the first one and their number. An empty one is named by the line before it.
    private static func range(_ first: Int, _ count: Int) -> String {
        count == 1 ? String(first) : "\(count == 0 ? first - 1 : first),\(count)"
    }
}

/// A JSON value as lines for people: members in order of their names, two spaces for each level.
enum IndentedJSON {
    static func lines(of json: JSON) -> [String] {
        var lines: [String] = []
        self.add(json, before: "", after: "", indent: "", to: &lines)
        return lines
    }

    private static func add(
        _ json: JSON, before: String, after: String, indent: String, to lines: inout [String]
    ) {
        func list(_ open: String, _ close: String, _ elements: [(String, JSON)]) {
            guard !elements.isEmpty else { return lines.append(indent + before + open + close + after) }
            lines.append(indent + before + open)
            for (index, element) in elements.enumerated() {
                self.add(
                    element.1, before: element.0, after: index + 1 < elements.count ? "," : "", indent: indent + "  ",
                    to: &lines)
            }
            lines.append(indent + close + after)
        }
        switch json {
        case .object(let members):
            let sorted = members.sorted { $0.key < $1.key }
            list("{", "}", sorted.map { ("\(JSON.string($0.key).canonicalText): ", $0.value) })
        case .array(let elements): list("[", "]", elements.map { ("", $0) })
        default: lines.append(indent + before + json.canonicalText + after)
        }
    }
}
