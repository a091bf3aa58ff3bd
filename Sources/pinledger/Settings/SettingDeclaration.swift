/// All that is declared of a setting: who reads it, its value's form and default, and how help texts describe it.
struct SettingDeclaration: Sendable {
    /// The form of a value.
    enum Form: Sendable {
        case text
        /// Several texts; in the environment separated by commas.
        case list
        /// true or false; in the environment 1, true, yes or 0, false, no.
        case flag
        case integer(ClosedRange<Int>)
        case number(ClosedRange<Double>)
        /// One of these words.
        case word([String])
    }

    /// The value of a setting that is given nowhere.
    enum Standard: Sendable {
        case none
        /// A value that could be given too.
        case value(String)
        /// No value; these words describe what happens without one.
        case description(String)
    }

    enum Treatment: Sendable {
        /// A running node keeps the value that it started with.
        case fixed
        /// A running node takes a new value.
        case reloaded
        /// The value is a secret or names a file with one, and is fixed.
        case secret
    }

    let programs: Set<Setting.Program>
    let section: Setting.Section
    let form: Form
    let treatment: Treatment
    let hasFlag: Bool
    /// The word that stands for a value in help texts.
    let placeholder: String
    /// One or more sentences.
    let meaning: String
    let standard: Standard

    init(
        _ programs: Set<Setting.Program>, _ form: Form, _ placeholder: String, _ meaning: String,
        default standard: Standard = .none, in section: Setting.Section = .general, _ treatment: Treatment = .fixed
    ) {
        self.programs = programs
        self.section = section
        self.form = form
        self.treatment = treatment
        self.hasFlag = true
        self.placeholder = placeholder
        self.meaning = meaning
        self.standard = standard
    }

    /// A setting that is true or false.
    init(
        _ programs: Set<Setting.Program>, flag meaning: String, default standard: Standard = .none,
        in section: Setting.Section = .general, hasFlag: Bool = true
    ) {
        self.programs = programs
        self.section = section
        self.form = .flag
        self.treatment = .fixed
        self.hasFlag = hasFlag
        self.placeholder = ""
        self.meaning = meaning
        self.standard = standard
    }

    /// The help of its flag.
    ///
    /// - Parameter variable: The name of its environment variable.
    func help(_ variable: String) -> String {
        var sentences = [self.meaning]
        var place = variable
        switch self.form {
        case .list:
            sentences.append("May be repeated.")
            place += ", separated by commas"
        case .flag: place += "=1"
        case .word(let words): sentences.append("Values: \(words.joined(separator: ", ")).")
        case .text, .integer, .number: break
        }
        switch self.standard {
        case .none: break
        case .value(let text), .description(let text): sentences.append("Default: \(text).")
        }
        return sentences.joined(separator: " ") + " [env: \(place)]"
    }
}
