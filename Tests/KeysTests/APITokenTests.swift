import Keys
import PinWire
import Testing

@Suite struct `API tokens` {
    static let secret = "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ"
    static let vector = "pk_adm_\(secret)0mLq17"

    @Test func `the documented vector is a token`() throws {
        let token = try APIToken(parsing: Self.vector)
        #expect(token.kind == .administrator)
        #expect(token.revealedText == Self.vector)
        #expect(token.digest == sha256(Self.vector.utf8))
    }

    @Test(arguments: TokenKind.allCases)
    func `a generated token is read back, whatever its kind`(kind: TokenKind) throws {
        let token = APIToken.generate(kind)
        #expect(token.revealedText.wholeMatch(of: /pk_(adm|cal|ci|tel|cli|wrp|ses|web)_[0-9A-Za-z]{36}/) != nil)
        let parsed = try APIToken(parsing: token.revealedText)
        #expect(parsed.kind == kind)
        #expect(parsed.matches(digest: token.digest))
        #expect(!parsed.matches(digest: APIToken.generate(kind).digest))
        #expect(!parsed.matches(digest: []))
    }

    @Test(arguments: Array(vector.indices))
    func `every change of a single character is refused`(place: String.Index) {
        let alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-. \n\0é"
        for character in alphabet where character != Self.vector[place] {
            var changed = Self.vector
            changed.replaceSubrange(place...place, with: String(character))
            #expect(throws: APIToken.Invalid.self) { try APIToken(parsing: changed) }
        }
        var shortened = Self.vector
        shortened.remove(at: place)
        #expect(throws: APIToken.Invalid.malformed) { try APIToken(parsing: shortened) }
        var lengthened = Self.vector
        lengthened.insert("0", at: place)
        #expect(throws: APIToken.Invalid.malformed) { try APIToken(parsing: lengthened) }
    }

    @Test func `a changed secret or checksum is a wrong checksum, not a malformed token`() {
        let prefix = "pk_adm_".count
        for offset in prefix..<Self.vector.count {
            let place = Self.vector.index(Self.vector.startIndex, offsetBy: offset)
            for character in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
            where character != Self.vector[place] {
                var changed = Self.vector
                changed.replaceSubrange(place...place, with: String(character))
                #expect(throws: APIToken.Invalid.wrongChecksum) { try APIToken(parsing: changed) }
            }
        }
    }

    @Test(arguments: [
        "", "pk", "pk_", "pk__", "pk_adm", "pk_adm_", "pk_root_\(secret)0mLq17", "PK_adm_\(secret)0mLq17",
        "pk_ADM_\(secret)0mLq17", "sk_adm_\(secret)0mLq17", " \(vector)", "\(vector) ", "\(vector)\n", "\(vector)_",
        "\(vector)\(vector)", "Bearer \(vector)", "pk-adm-\(secret)0mLq17", "pk_adm_\(secret)", "pk_adm_0mLq17",
        "pk_adm_\(secret)_0mLq17", "tok_0123456789abcdef", String(repeating: "_", count: 1_000_000),
    ])
    func `a text that does not have the form of a token is malformed`(text: String) {
        #expect(throws: APIToken.Invalid.malformed) { try APIToken(parsing: text) }
    }

    @Test func `a token never shows its secret`() throws {
        let token = try APIToken(parsing: Self.vector)
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped, "\([token])", "\(Optional(token) as Any)"] {
            #expect(!text.contains("zQWB"))
        }
        #expect("\(token)" == "pk_adm_…")
    }

    @Test func `ids are drawn apart and read back`() throws {
        let ids = (0..<100).map { _ in TokenID.generate() }
        #expect(Set(ids).count == 100)
        for id in ids {
            #expect(id.description.wholeMatch(of: /tok_[0-9A-Za-z]{16}/) != nil)
            #expect(TokenID(id.description) == id)
        }
    }

    @Test(arguments: [
        "", "tok_", "tok_0123456789abcde", "tok_0123456789abcdefg", "tik_0123456789abcdef", "tok_0123456789abcde-",
    ])
    func `a malformed id is refused`(text: String) {
        #expect(TokenID(text) == nil)
    }
}
