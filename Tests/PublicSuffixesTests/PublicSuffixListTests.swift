import PublicSuffixes
import Testing

@Suite struct `Public suffix list` {
    private let list: PublicSuffixList

    init() throws {
        self.list = try PublicSuffixList.load()
    }

    @Test(arguments: [
        "com", "org", "de", "uk", "co.uk", "gov.uk", "jp", "ac.jp", "kyoto.jp", "ide.kyoto.jp",
        // Wildcard rules: *.ck and *.kawasaki.jp.
        "ck", "anything.ck", "c.kawasaki.jp",
        // The private section.
        "github.io", "blogspot.com", "s3.amazonaws.com", "herokuapp.com",
        // A-labels: .рф, .中国, and 公司.cn.
        "xn--p1ai", "xn--fiqs8s", "xn--55qx5d.cn",
        // Unlisted single labels fall under the default rule.
        "localhost", "internal", "notatld",
    ])
    func `a public suffix is known as one`(domain: String) {
        #expect(self.list.isPublicSuffix(domain))
    }

    @Test(arguments: [
        "example.com", "www.example.com", "example.co.uk", "pins.github.io",
        // Exceptions: !www.ck and !city.kawasaki.jp.
        "www.ck", "city.kawasaki.jp",
        "pinning.ck.example.com", "b.ide.kyoto.jp", "example.xn--p1ai", "example.xn--55qx5d.cn", "example.notatld",
        "xn--bcher-kva.example",
    ])
    func `a name below a public suffix is not one`(domain: String) {
        #expect(!self.list.isPublicSuffix(domain))
    }

    @Test func `a malformed name is never allowed`() {
        #expect(self.list.isPublicSuffix(""))
        #expect(self.list.isPublicSuffix("com\0.example.com"))
    }

    @Test func `the provenance of the public suffix list names the library`() {
        #expect(self.list.provenance.hasPrefix("libpsl "))
    }

    @Test func `many tasks may ask the public suffix list at once`() async {
        let list = self.list
        let count = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<1000 {
                group.addTask { list.isPublicSuffix(index.isMultiple(of: 2) ? "co.uk" : "example\(index).co.uk") }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 500)
    }
}
