/// The names that entries of a format can cover.
struct EntryRules {
    /// The names that an entry with pins can cover, the widest first.
    var reaches: [Reach]
    /// The names that an entry can except from a wider one's pins; empty where there is no such entry.
    var exceptions: [Reach] = []
    /// Whether one name can have several entries.
    var isRepeatable = false
    var overlap = Overlap.nearest
    /// Whether an entry can be report-only.
    var canReportOnly = false
    /// ``reaches``, as a sentence without its full stop.
    var words: String

    /// Whose pins hold for a name that several entries cover.
    enum Overlap {
        /// Those of the entry with the longest name.
        case nearest
        /// Those of all of them.
        case sum
        /// The client's documentation does not say.
        case unknown
    }
}

extension ExportFormat {
    /// How the format's entries are matched with names; nil for formats that take the app's hosts unchanged.
    var rules: EntryRules? {
        let oneOrAll = "An entry stands for one name, or for that and all names below it"
        return switch self {
        case .appleATS:
            // Two label depths only: Apple's documentation of NSIncludesSubdomains.
            EntryRules(
                reaches: [[.own, .below], .own], overlap: .unknown,
                words: "An entry stands for one name, or for that and the names one label below it")
        case .androidNSC:
            EntryRules(reaches: [.all, .own], exceptions: [.own, .all], words: oneOrAll)
        case .trustkitAndroid:
            EntryRules(reaches: [.all, .own], exceptions: [.own, .all], canReportOnly: true, words: oneOrAll)
        case .trustkitIOS:
            EntryRules(reaches: [.all, .own], exceptions: [.own], canReportOnly: true, words: oneOrAll)
        case .hpkp:
            EntryRules(reaches: [.all, .own], canReportOnly: true, words: oneOrAll)
        case .reactNative:
            // On Android, OkHttp does the comparison.
            EntryRules(reaches: [.all, .own], overlap: .sum, words: oneOrAll)
        case .okhttp:
            EntryRules(
                reaches: [.all, .own, .below], isRepeatable: true, overlap: .sum,
                words: "A pattern stands for one name, for the names one label below it (*.), or for it and all names "
                    + "below it (**.)")
        case .okhttp3:
            EntryRules(
                reaches: [.own, .below], isRepeatable: true, overlap: .sum,
                words: "A pattern stands for one name, or for the names one label below it (*.); OkHttp 3 takes **. "
                    + "and never matches it")
        case .flutter, .curl, .netkit: EntryRules(reaches: [.own], words: "An entry stands for one name")
        case .pem, .json, .swift, .kotlin: nil
        }
    }

    /// Whether a report-only host can be written as such.
    var canReportOnly: Bool { self.rules?.canReportOnly ?? (self == .json) }

    /// Whether, and how exactly, the format has a place for the end of the pins' validity.
    var validity: Validity {
        switch self {
        case .androidNSC, .trustkitAndroid: .localDate
        case .trustkitIOS, .reactNative: .date
        case .swift, .kotlin, .json: .instant
        case .appleATS, .okhttp, .okhttp3, .flutter, .curl, .hpkp, .netkit, .pem: .none
        }
    }

    /// How exactly a format states until when pins hold.
    enum Validity {
        case none
        /// At the beginning of a day in UTC.
        case date
        /// At the beginning of a day in the device's time zone.
        case localDate
        case instant
    }
}
