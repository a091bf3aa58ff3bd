import Testing

/// Something in the program that reads what comes from outside: from clients, files, other servers, the database.
struct InputReader: Sendable, CustomTestStringConvertible {
    /// What it reads.
    let name: String
    /// Inputs that are in order, which damaged ones are made from.
    let seeds: [[UInt8]]
    /// What may stand around a text in the places where strangers put theirs.
    let frames: [Frame]
    /// Reads an input and uses what comes of it; a refusal is as good as anything else.
    let read: @Sendable ([UInt8]) -> Void

    var testDescription: String { self.name }

    /// An input with a place for a text.
    struct Frame: Sendable {
        let before: String
        let after: String
        /// How the text is written there: as it is, in Base64, with percent escapes.
        var encode: @Sendable ([UInt8]) -> [UInt8] = { $0 }

        init(_ before: String = "", _ after: String = "", encode: @escaping @Sendable ([UInt8]) -> [UInt8] = { $0 }) {
            self.before = before
            self.after = after
            self.encode = encode
        }

        func around(_ text: [UInt8]) -> [UInt8] { Array(self.before.utf8) + self.encode(text) + Array(self.after.utf8) }
    }

    init(
        _ name: String, seeds: [String] = [], bytes: [[UInt8]] = [], frames: [Frame] = [Frame()],
        read: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.seeds = seeds.map { Array($0.utf8) } + bytes
        self.frames = frames
        self.read = { input in try? read(input) }
    }

    static let all = Self.wire + Self.files + Self.stored + Self.strangers
}

/// Keeps the optimiser from leaving out what nobody needs.
@inline(never)
func use(_ values: Any?...) { withExtendedLifetime(values) {} }

/// Does with a text what the program does with texts that it has let in.
func handle(_ text: String) {
    use(
        text == "x\(text.dropLast())", Set([text, "x"]).count, text.lowercased(), text.hasPrefix("xyz"),
        text.hasSuffix("xyz"), text.split(separator: ",").count, text < "\(text)y", text.firstIndex(of: "\""),
        text.last == " ")
}
