import PinWire
import Testing

struct CanonicalMembersTests {
    private static let text =
        #"{"aud":"a.b","hosts":[{"aud":"c","version":9,"x":"}\"{"}],"iat":12,"n":{"iat":5},"version":3}"#
    private let members = CanonicalMembers(Array(text.utf8))

    @Test func `members of the object itself are found`() {
        #expect(self.members.has("aud", "a.b") && self.members.has("iat", 12) && self.members.has("version", 3))
    }

    @Test(arguments: ["c", "a", "a.b.", ""]) func `other strings are not`(value: String) {
        #expect(!self.members.has("aud", value))
    }

    @Test(arguments: [1, 2, 5, 9, 123, -12] as [Int64]) func `other numbers are not`(value: Int64) {
        #expect(!self.members.has("iat", value))
        #expect(!self.members.has("version", value))
    }

    @Test func `members of other names are not`() {
        #expect(!self.members.has("x", "}") && !self.members.has("n", 5) && !self.members.has("au", "a.b"))
    }

    @Test func `what is cut off anywhere is read without harm`() {
        let bytes = Array(Self.text.utf8)
        for count in bytes.indices {
            let cut = CanonicalMembers(Array(bytes.prefix(count)))
            #expect(!cut.has("version", 3))
        }
        #expect(!CanonicalMembers([]).has("a", 1) && !CanonicalMembers(Array(#"{"a\"#.utf8)).has("a", 1))
    }
}
