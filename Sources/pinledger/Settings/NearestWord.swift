/// The word of a list that a mistyped one is most like.
enum NearestWord {
    /// - Returns: The first word with the fewest letters to insert, remove, replace or swap; nil where even that is more than a
    ///   third of them.
    static func of(_ word: String, in words: [String]) -> String? {
        let limit = max(1, word.utf8.count / 3)
        // The cost is quadratic, and no name is longer than this.
        guard word.utf8.count <= 64 else { return nil }
        let distances = words.map { (word: $0, distance: Self.distance(word, $0)) }
        return distances.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.word
    }

    /// The optimal string alignment distance (Damerau 1964; each place is edited at most once).
    static func distance(_ one: String, _ other: String) -> Int {
        let (a, b) = (Array(one.utf8), Array(other.utf8))
        var (before, last) = ([Int](), Array(0...b.count))
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, before[j - 1] + 1) }
                row.append(least)
            }
            (before, last) = (last, row)
        }
        return last[b.count]
    }
}
