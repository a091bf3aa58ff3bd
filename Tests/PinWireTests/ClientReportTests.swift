import PinWire
import SeededRandom
import Testing

/// What clients say of themselves, and what they cannot make of it.
@Suite struct ClientReportTests {
    private static let install = "uw5PSUQ3lNkB6Jaf8RvREg"

    @Test func `a whole client report reads back as it was written`() throws {
        let field = "version=12, platform=ios, app_version=\"2.4.1\", install=\"\(Self.install)\""
        let report = try #require(ClientReport(field: field))
        #expect(report.version == 12)
        #expect(report.platform == .ios)
        #expect(report.release == AppRelease(major: 2, minor: 4, patch: 1))
        #expect(report.install?.text == Self.install)
        #expect(report.field == field)
        #expect(ClientReport(field: report.field) == report)
        #expect(ClientReport(field: ClientReport().field) == ClientReport())
    }

    /// A field, and what is to be seen of it: version, platform, app version, whether there is an install id.
    static let readable: [(String, Int64?, ClientPlatform?, String?, Bool)] = [
        ("", nil, nil, nil, false), ("version=0", 0, nil, nil, false), ("  version=7  ", 7, nil, nil, false),
        ("version=7,platform=android", 7, .android, nil, false), ("version=7 ,\tplatform=web", 7, .web, nil, false),
        ("version=1, version=2", 2, nil, nil, false), ("version=7;a=1;b=\"x\";c", 7, nil, nil, false),
        ("platform=iOS", nil, .ios, nil, false), ("platform=symbian", nil, .other, nil, false),
        ("platform=server", nil, .server, nil, false),
        ("version=999999999999999", 999_999_999_999_999, nil, nil, false),
        // What is not of its kind counts as not said; what nobody knows, too.
        ("version=\"7\"", nil, nil, nil, false), ("version=7.0", nil, nil, nil, false),
        ("version=-7", nil, nil, nil, false),
        ("version", nil, nil, nil, false), ("version=?1", nil, nil, nil, false),
        ("version=(7 8)", nil, nil, nil, false),
        ("version=:aGk=:", nil, nil, nil, false), ("platform=\"ios\"", nil, nil, nil, false),
        ("app_version=2.4", nil, nil, nil, false), ("app_version=\"latest\"", nil, nil, nil, false),
        ("app_version=\"2\"", nil, nil, "2.0.0", false), ("app_version=\"1.2.3.4-rc1+b\"", nil, nil, "1.2.3", false),
        ("app_version=\"01.002\"", nil, nil, "1.2.0", false),
        ("install=\"\(install)\"", nil, nil, nil, true), ("install=\(install)", nil, nil, nil, false),
        ("install=\"\(install)==\"", nil, nil, nil, true), ("install=\"\(install)=\"", nil, nil, nil, false),
        ("install=\"++PSUQ3lNkB6Jaf8RvRE/w==\"", nil, nil, nil, true),
        ("install=\"+/5PSUQ3lNkB6Jaf8RvREg==\"", nil, nil, nil, true),
        ("install=\"-_5PSUQ3lNkB6Jaf8RvREg==\"", nil, nil, nil, true), ("install=\"===\"", nil, nil, nil, false),
        ("install=\"\(install)A\"", nil, nil, nil, false), ("install=\"uw5PSUQ3lNkB6Jaf8RvRE_\"", nil, nil, nil, false),
        ("install=\"\"", nil, nil, nil, false), ("install=\"uw5PSUQ3lNkB6Jaf8RvRE/\"", nil, nil, nil, false),
        ("x=1, *y=(), z;q=0.5, version=3", 3, nil, nil, false),
        ("x=(\"a\" b;c 1.5);d, version=3", 3, nil, nil, false), ("x=\"a \\\"b\\\\\", version=3", 3, nil, nil, false),
        ("version=3, x=9.125", 3, nil, nil, false),
    ]

    @Test(arguments: readable)
    func `members of a client report are read one by one`(
        field: String, version: Int64?, platform: ClientPlatform?, release: String?, hasInstall: Bool
    ) throws {
        let report = try #require(ClientReport(field: field))
        #expect(report.version == version)
        #expect(report.platform == platform)
        #expect(report.release?.description == release)
        #expect((report.install != nil) == hasInstall)
    }

    static let unreadable = [
        "version=7,", ",version=7", "version=7,,platform=ios", "version=7 platform=ios", "Version=7", "version =7",
        "version= 7", "7", "=7", "version=", "version=7;", "version=7;=1", "version=7; A", "x=\"", "x=\"a\u{1}\"",
        "x=\"ü\"", "x=\"\\a\"", "x=:a", "x=?2", "x=?", "x=(", "x=(1", "x=(1,2)", "x=(1\"a\")", "x=1.", "x=1.2345",
        "x=1234567890123.1", "x=1234567890123456", "x=-", "x=--1", "x=@1", "x=%", "version=7\n", "version=7\u{0}",
        "version=7, \u{7F}", "{\"version\": 7}", "version:7", String(repeating: "a, ", count: 341) + "ab",
        "x=\"" + String(repeating: "a", count: 2000) + "\"", "x=" + String(repeating: "(", count: 1000),
    ]

    @Test(arguments: unreadable) func `a client report that is not a dictionary is refused`(field: String) {
        #expect(ClientReport(field: field) == nil)
    }

    @Test func `no field of random bytes does any harm`() {
        var random = SeededGenerator(seed: TestSeed.chosen(or: 8941))
        let alphabet = Array("versionplatform=,;\"\\:?().-0123456789 *aA\t\u{0}ü".unicodeScalars)
        for _ in 0..<TestDepth.rounds(20_000) {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                text.append(alphabet.randomElement(using: &random) ?? " ")
            }
            guard let report = ClientReport(field: String(text)) else { continue }
            #expect(ClientReport(field: report.field) == report, "\(String(text).debugDescription)")
        }
    }

    @Test func `an install id never appears in its description`() throws {
        let install = try #require(InstallID(Self.install))
        #expect(!"\(install) \(String(reflecting: install)) \(ClientReport(install: install))".contains("uw5P"))
        var dumped = ""
        dump(install, to: &dumped)
        #expect(!dumped.contains("187"))
    }

    // MARK: Tags

    private static let digest = "uw5PSUQ3lNkB6Jaf8RvREuNCCKDc3w4e7bSAzJs8cpM"

    static let conditions: [(String, Int64?)] = [
        ("\"12.\(digest)\"", 12), ("W/\"12.\(digest)-gzip\"", 12), ("\"12.\(digest)-br\"", 12),
        ("\"12.\(digest);cache\"", 12), ("\"x\", \"3.\(digest)\" , W/\"12.\(digest)\", \"7.\(digest)\"", 12),
        ("\"999999999999999.\(digest)\"", 999_999_999_999_999), ("\"\(digest)\"", nil), ("*", nil), ("", nil),
        ("12.\(digest)", nil), ("\"12.\(digest)", nil), ("\"012.\(digest)\"", nil), ("\"0.\(digest)\"", nil),
        ("\"-1.\(digest)\"", nil), ("\".\(digest)\"", nil), ("\"12.x\"", nil), ("\"12\"", nil),
        ("\"1234567890123456.\(digest)\"", nil), ("\"12 .\(digest)\"", nil), ("\"", nil), ("\"\"\"", nil),
    ]

    @Test(arguments: conditions) func `a condition tells the newest version it names`(
        condition: String, version: Int64?
    ) {
        #expect(DocumentTag.newestVersion(in: condition) == version)
    }
}
