import ArgumentParser
import Foundation
import Testing

@testable import pinledger

/// The one name of a setting as a flag, a variable and a key of the configuration file.
@Suite("A setting of a server") struct SettingTests {
    /// Flags of `serve` that are no settings: they are about one start.
    static let others: Set = ["--config", "--trust-database", "--version", "--help"]

    @Test func `every flag of a server is a setting, and the other way round`() throws {
        for (path, program) in Self.programs {
            let command = try #require(CommandTree.all.first { $0.path == path })
            let flags = Set((command.arguments ?? []).map { "--\($0.name)" }).subtracting(Self.others)
            #expect(flags == Set(Setting.all(of: program).compactMap(\.flag)))
        }
    }

    private static let programs: [(path: [String], program: Setting.Program)] = [
        (["serve"], .server), (["edge", "serve"], .edge),
    ]

    @Test(arguments: programs)
    func `the help of every flag names its variable`(path: [String], program: Setting.Program) throws {
        let command = try #require(CommandTree.all.first { $0.path == path })
        for setting in Setting.all(of: program) where setting.flag != nil {
            let flag = try #require(command.arguments?.first { "--\($0.name)" == setting.flag })
            #expect(flag.abstract?.contains("[env: \(setting.variable)") == true, "\(setting.variable)")
        }
    }

    @Test(arguments: [
        ("max_conections", "max_connections"), ("listne", "listen"), ("kekfile", "kek_file"), ("databse", "database"),
        ("something_else", nil), ("", nil), (String(repeating: "listen", count: 50), nil),
    ])
    func `a mistyped name is told the nearest one`(typed: String, nearest: String?) {
        #expect(NearestWord.of(typed, in: Setting.allCases.map(\.rawValue)) == nearest)
    }

    @Test(arguments: [
        ("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("same", "same", 0), ("ab", "ba", 1),
        ("ca", "abc", 3),
    ])
    func `the distance of two words is that of the optimal string alignment`(one: String, other: String, distance: Int)
    {
        #expect(NearestWord.distance(one, other) == distance)
        #expect(NearestWord.distance(other, one) == distance)
    }

    @Test func `a file gives what it says, and an empty value gives nothing`() throws {
        let text =
            "database: dbname=x\nread_only: yes\ntrusted_proxy: [10.0.0.0/8, '::1/128']\nresolve: a=1.1.1.1\nlisten:\n"
        let file = try SettingsFile(bytes: Array(text.utf8), path: "p.yaml")
        let settings = try Settings(file: file, environment: ["PINLEDGER_RESOLVE": ""], credentials: nil)
        #expect(settings.text(.database, nil) == "dbname=x")
        #expect(try settings.isOn(.readOnly))
        #expect(settings.list(.trustedProxy, []) == ["10.0.0.0/8", "::1/128"])
        #expect(settings.list(.resolve, []) == ["a=1.1.1.1"])
        #expect(settings.text(.listen, nil, default: "here") == "here")
        #expect(settings.effective(.readOnly)?.source == .file("p.yaml", line: 2))
        #expect(settings.effective(.listen)?.source == .standard)
    }

    @Test(arguments: [
        String(repeating: "[", count: 10_000), "a: &a [*a]\n", "&x listen: *x\n", "!!binary listen: x\n",
        String(repeating: "- ", count: 5_000), "listen: !!int x\n\u{0}", "\u{FEFF}listen: 1\u{202E}: 2",
    ])
    func `a hostile file is refused or read, and ends nothing`(text: String) {
        do {
            _ = try SettingsFile(bytes: Array(text.utf8), path: "p.yaml")
        } catch {
            #expect(error is CommandFailure)
        }
    }
}
