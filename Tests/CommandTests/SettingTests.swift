import ArgumentParser
import Foundation
import Logging
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
        #expect(settings.text(.database) == "dbname=x")
        #expect(try settings.isOn(.readOnly))
        #expect(settings.list(.trustedProxy) == ["10.0.0.0/8", "::1/128"])
        #expect(settings.list(.resolve) == ["a=1.1.1.1"])
        #expect(settings.text(.listen) == "127.0.0.1:8440")
        #expect(settings.effective(.readOnly)?.source == .file("p.yaml", line: 2))
        #expect(settings.effective(.listen)?.source == .standard)
    }

    @Test(arguments: ["info", "INFO", "Info"])
    func `a word is read in upper and lower case, wherever it is given`(text: String) throws {
        let file = try SettingsFile(bytes: Array("log_level: \(text)\n".utf8), path: "p.yaml")
        for settings in [
            try Settings(flags: [.logLevel: [text]], environment: [:], credentials: nil),
            try Settings(environment: ["PINLEDGER_LOG_LEVEL": text], credentials: nil),
            try Settings(file: file, environment: [:], credentials: nil),
        ] {
            #expect(try settings.word(.logLevel, as: Logger.Level.self) == .info)
        }
    }

    @Test(arguments: [
        (Setting.drainDelay, "abc", "must be a number"), (.telemetryRate, "-1", "must be from 0.0"),
        (.requestsPerNetwork, "nan", "must be from 0.0"), (.readOnly, "perhaps", "must be true or false"),
        (.logFormat, "xml", "must be text or json"), (.writeQueue, "99999999999999999999", "must be a number"),
    ])
    func `a value of another form is refused before it is used`(setting: Setting, text: String, sentence: String) {
        let error = #expect(throws: CommandFailure.self) {
            try Settings(environment: [setting.variable: text], credentials: nil).check()
        }
        #expect(error?.message.contains(sentence) == true && error?.message.contains(setting.variable) == true)
    }

    @Test func `every default has the form that is declared`() throws {
        for program in Setting.Program.allCases {
            for setting in Setting.all(of: program) {
                let standard = setting.standard(in: program)
                guard !standard.isEmpty else { continue }
                let variables = [setting.variable: standard.joined(separator: ",")]
                #expect(throws: Never.self, "\(program) \(setting)") {
                    try Settings(of: program, environment: variables, credentials: nil).check()
                }
            }
        }
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
