import Pinning

/// How the files of one format are made: what its reader can do, and what draws them.
struct ExportForm: Sendable {
    var title: String
    var file: ClientFile
    /// How entries are matched with names; nil for a format that takes the app's hosts as they are.
    var names: NameMatching?
    /// Whether a host that only reports can be written as such.
    var canReportOnly = false
    var singlePin = SinglePin.accepted
    var validity = PinValidity.none
    /// For how long pins hold where the format has no place for their end.
    var lifetime = "until the app is updated"
    /// Whether files may have keys or certificates themselves in them, and not their digests alone.
    var takesMaterial = false
    var draw: Draw

    typealias Draw = @Sendable (inout ExportDraft, ExportContent) throws(ExportRefusal) -> Void
}

extension ExportForm {
    /// A format that a kind of client reads, as the kind's profile says.
    init(_ kind: ClientKind, takesMaterial: Bool = false, _ draw: @escaping Draw) {
        let profile = kind.profile()
        self.init(
            title: profile.title, file: profile.file ?? ClientFile(kind.rawValue), names: profile.names,
            canReportOnly: profile.reportOnly.isReported, singlePin: profile.singlePin, validity: profile.validity,
            takesMaterial: takesMaterial, draw: draw)
    }
}

/// What a file is made of.
struct ExportContent {
    var hosts: ExportHosts
    /// Empty for a format that takes the app's hosts as they are.
    var entries: [ExportPlan.Entry]
    /// DER by its SHA-256.
    var material: [[UInt8]: [UInt8]]
}
