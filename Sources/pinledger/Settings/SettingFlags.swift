import ArgumentParser

/// A program whose flags a command takes.
protocol SettingProgram: Sendable { static var program: Setting.Program { get } }

enum ServerProgram: SettingProgram { static let program = Setting.Program.server }
enum TrialProgram: SettingProgram { static let program = Setting.Program.trial }
enum EdgeProgram: SettingProgram { static let program = Setting.Program.edge }
enum ExportProgram: SettingProgram { static let program = Setting.Program.export }

/// A section of settings, as a type: ArgumentParser makes groups of flags from types alone.
protocol SettingSection: Sendable { static var section: Setting.Section { get } }

private enum General: SettingSection { static let section = Setting.Section.general }
private enum Outgoing: SettingSection { static let section = Setting.Section.outgoing }
private enum Firebase: SettingSection { static let section = Setting.Section.firebase }
private enum Limits: SettingSection { static let section = Setting.Section.limits }
private enum Probes: SettingSection { static let section = Setting.Section.probes }
private enum Reports: SettingSection { static let section = Setting.Section.reports }
private enum Announcements: SettingSection { static let section = Setting.Section.announcements }
private enum Traces: SettingSection { static let section = Setting.Section.traces }
private enum Memory: SettingSection { static let section = Setting.Section.memory }

extension Setting.Section {
    fileprivate var type: any SettingSection.Type {
        switch self {
        case .general: General.self
        case .outgoing: Outgoing.self
        case .firebase: Firebase.self
        case .limits: Limits.self
        case .probes: Probes.self
        case .reports: Reports.self
        case .announcements: Announcements.self
        case .traces: Traces.self
        case .memory: Memory.self
        }
    }
}

/// The flags of a program's settings, made from their declarations.
struct SettingFlags<Program: SettingProgram>: ParsableArguments, CustomReflectable {
    /// The settings that flags give, as texts.
    var values: [Setting: [String]] = [:]

    private static var sections: [Setting.Section] {
        let used = Set(Setting.all(of: Program.program).map { $0.declaration(in: Program.program).section })
        return Setting.Section.allCases.filter(used.contains)
    }

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: FlagKey.self)
        func read<Section: SettingSection>(_: Section.Type) throws -> [Setting: [String]] {
            guard Section.section != .general else { return try SectionFlags<Program, Section>(from: decoder).values }
            let key = FlagKey(Section.section)
            return try container.decode(OptionGroup<SectionFlags<Program, Section>>.self, forKey: key).wrappedValue
                .values
        }
        for section in Self.sections {
            self.values.merge(try read(section.type)) { given, _ in given }
        }
    }

    /// The parser finds flags by reflection.
    var customMirror: Mirror {
        func children<Section: SettingSection>(_: Section.Type) -> [Mirror.Child] {
            guard Section.section != .general else { return SectionFlags<Program, Section>.children }
            let group = OptionGroup<SectionFlags<Program, Section>>(title: Section.section.rawValue)
            return [(label: "_\(FlagKey(Section.section).stringValue)", value: group)]
        }
        return Mirror(self, children: Self.sections.flatMap { children($0.type) })
    }
}

/// The flags of a program's settings in one section.
private struct SectionFlags<Program: SettingProgram, Section: SettingSection>: ParsableArguments, CustomReflectable {
    private(set) var values: [Setting: [String]] = [:]

    private static var settings: [Setting] {
        Setting.all(of: Program.program).filter {
            $0.flag != nil && $0.declaration(in: Program.program).section == Section.section
        }
    }

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: FlagKey.self)
        for setting in Self.settings {
            let key = FlagKey(setting)
            let texts =
                switch setting.form {
                case .flag: try container.decode(Flag<Bool>.self, forKey: key).wrappedValue ? ["true"] : []
                case .list: try container.decode(Option<[String]>.self, forKey: key).wrappedValue
                case .text, .integer, .number, .word:
                    try container.decode(Option<String?>.self, forKey: key).wrappedValue.map { [$0] } ?? []
                }
            if !texts.isEmpty { self.values[setting] = texts }
        }
    }

    var customMirror: Mirror { Mirror(self, children: Self.children) }

    static var children: [Mirror.Child] {
        Self.settings.map { setting in
            let declared = setting.declaration(in: Program.program)
            let name = NameSpecification.customLong(String(setting.flag?.dropFirst(2) ?? ""))
            let help = ArgumentHelp("\(setting.help(in: Program.program))", valueName: declared.placeholder)
            let flag: Any =
                switch declared.form {
                case .flag: Flag(wrappedValue: false, name: name, help: help)
                case .list: Option<[String]>(wrappedValue: [], name: name, help: help)
                case .word(let words): Option<String?>(name: name, help: help, completion: .list(words))
                case .text, .integer, .number: Option<String?>(name: name, help: help)
                }
            return (label: "_\(FlagKey(setting).stringValue)", value: flag)
        }
    }
}

private struct FlagKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }

    init(_ setting: Setting) { self.stringValue = setting.rawValue }

    init(_ section: Setting.Section) { self.stringValue = "section \(section.rawValue)" }
}
