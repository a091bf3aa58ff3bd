/// A line of a shell, as far as examples and hints need it.
enum ShellWords {
    /// The words of a line, as a shell splits it, with quotes but without anything else.
    static func split(_ line: String) -> [String] {
        var words: [String] = []
        var word = ""
        var isQuoted = false
        for character in line.replacing("\\\"", with: "\"") {
            if character == "\"" || character == "'" {
                isQuoted.toggle()
            } else if character == " " || character == "\n", !isQuoted {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        if !word.isEmpty { words.append(word) }
        return words
    }
}
