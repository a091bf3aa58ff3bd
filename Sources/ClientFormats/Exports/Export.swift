import PinWire
package import Pinning

/// A file with an app's pins built in, for one kind of client, and what it could not express.
///
/// The same hosts, pins and material make the same bytes, in whatever order they come, whichever key is served, and at
/// whatever time: the file is made to be committed and compared.
package struct Export: Hashable, Sendable {
    package let format: ExportFormat
    /// The file's content: UTF-8 that ends in a line feed.
    package let bytes: [UInt8]
    /// The parts that were left out or changed, as sentences; empty where the file expresses everything that the app's
    /// hosts require.
    package let notes: [String]

    /// Renders an app's pins.
    ///
    /// - Parameters:
    ///   - format: The format to render.
    ///   - view: The policies for the app's clients. Pins are taken from hosts whose mode is `enforce`, and from those
    ///     with `report_only` where the format can express it, whether or not a kill switch or the end of their
    ///     validity turns them off now. All others are left out, and where a wider entry would give them another host's
    ///     pins they are excepted from it, or it is narrowed.
    ///   - material: DER by its SHA-256 (32 bytes): the SubjectPublicKeyInfo of pins and whole certificates, where the
    ///     format takes it (``ExportFormat/takesMaterial``). Bytes whose digest differs from their key are ignored.
    /// - Throws: ``ExportRefusal`` where nothing is left and the format has no form for that, or an app with the file
    ///   would not start.
    package static func render(
        _ format: ExportFormat, of view: ClientView, material: [[UInt8]: [UInt8]] = [:]
    ) throws(ExportRefusal) -> Export {
        let form = format.form
        let hosts = ExportHosts(view, for: form)
        var draft = ExportDraft(format: format, form: form, view: view, notes: hosts.notes)
        draft.noteValidity(ofAny: !hosts.kept.isEmpty)
        var entries: [ExportPlan.Entry] = []
        if let names = form.names {
            let plan = ExportPlan(hosts, names, title: form.title)
            draft.notes += plan.notes
            entries = plan.entries
            try draft.requireBackups(entries)
        }
        try form.draw(&draft, ExportContent(hosts: hosts, entries: entries, material: material))
        return Export(format: format, bytes: draft.bytes, notes: draft.notes)
    }
}

/// Why there is no file.
package enum ExportRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// These hosts have one pin, and the file's reader throws when it is started with it.
    case singlePin(ExportFormat, hosts: [String])
    /// No host is left, and the format's reader takes no file without one. The notes say why.
    case nothingToPin(ExportFormat, notes: [String])
    /// The material of no pin is available. The notes say how to change that.
    case noMaterial(notes: [String])

    package var description: String {
        switch self {
        case .singlePin(let format, let hosts):
            "With one pin alone (\(hosts.joined(separator: ", "))), "
                + (format.form.singlePin == .crashes
                    ? "\(format.title) throws where it enforces, and the app crashes when it starts. "
                    : "\(format.title) rejects the file on iOS, and no host is pinned. ")
                + "Add a backup pin of another key to each, or set the mode to report_only."
        case .nothingToPin(let format, let notes):
            (["No host is left whose pins could be written for \(format.title), which takes no empty file."] + notes)
                .joined(separator: " ")
        case .noMaterial(let notes):
            (["No public key and no certificate of the app's pins is at hand."] + notes).joined(separator: " ")
        }
    }
}

/// A file that is being written.
struct ExportDraft {
    let format: ExportFormat
    let form: ExportForm
    let view: ClientView
    var bytes: [UInt8] = []
    var notes: [String]

    /// What made the file.
    var origin: String { "Made by Pinledger for \(self.view.app) (\(self.view.displayName)): \(self.form.title)." }

    /// The command that shows whether the file still matches the server.
    var check: String { "pinledger export \(self.format.rawValue) \(self.view.app) --check FILE" }

    /// The first lines of a file in whose language a line with `mark` in front is a comment.
    func header(_ mark: String, _ comment: (String) -> String = Quoting.comment) -> [String] {
        ["\(mark) \(comment(self.origin))", "\(mark) Check it with: \(self.check)"]
    }

    /// The first lines of an XML file. No comment in XML can have the two hyphens of an option.
    ///
    /// - Parameter remarks: More lines of the comment.
    func xmlHeader(_ remarks: [String] = []) -> [String] {
        [
            "<!--",
            "    \(Quoting.sparseComment(self.origin))",
            "    Check it with: \(Quoting.sparseComment("pinledger export \(self.format.rawValue) \(self.view.app)"))"
                + " and the option check, with this file's name.",
        ] + remarks.map { "    \(Quoting.sparseComment($0))" } + ["-->"]
    }

    /// Refuses entries at which TrustKit throws: below two pins, where it enforces (`parse_configuration.m` 3.0,
    /// `DomainPinningPolicy.java`).
    fileprivate func requireBackups(_ entries: [ExportPlan.Entry]) throws(ExportRefusal) {
        switch self.form.singlePin {
        case .crashes, .ignored: break
        case .accepted, .discouraged, .notServed: return
        }
        let hosts = entries.compactMap(\.host).filter { $0.mode == .enforce && $0.pins.count < 2 }
        guard hosts.isEmpty else { throw .singlePin(self.format, hosts: hosts.map(\.pattern.text)) }
    }

    /// Until when pins hold, as a date: `2026-01-31`. They end with its beginning.
    var validUntilDate: String? {
        self.view.document.pinsValidUntil.map { String($0.rfc3339.prefix { $0 != "T" }) }
    }

    /// Notes how the end of the pins' validity is expressed.
    fileprivate mutating func noteValidity(ofAny isPinned: Bool) {
        guard let end = self.view.document.pinsValidUntil, isPinned else { return }
        let isOver = end <= self.view.now
        let begin = "The pins \(isOver ? "were" : "are") valid until \(end), and \(self.form.title)"
        switch self.form.validity {
        case .instant: break
        case .none:
            self.notes.append("\(begin) has no place for that: they hold \(self.form.lifetime).")
        case .localDate:
            self.notes.append("\(begin) takes a date: they end when that day begins where the device is.")
        case .date where end.microseconds % 86_400_000_000 != 0:
            self.notes.append("\(begin) takes a date: they end when that day begins in UTC.")
        case .date: break
        }
        if isOver {
            self.notes.append(
                "The end of the pins' validity, \(end), is over. The file has them all the same: set a later one "
                    + "before an app is built with it.")
        }
    }
}
