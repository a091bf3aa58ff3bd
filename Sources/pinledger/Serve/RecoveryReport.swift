import PinWire
import Pinning
import Publishing

/// What `pinledger recover` found out, planned and did.
struct RecoveryReport: Sendable {
    struct Plan: Sendable {
        /// Nil where nothing was lost, or the epoch has begun already.
        var restoration: HistoryRestoration?
        var logOrigin: LogName?
    }

    /// A lost change that was repeated, or why it was not.
    struct Repeated: Sendable {
        var source: LostChanges.Source
        var failure: String?
    }

    struct Outcome: Sendable {
        var began: Int64?
        var logOrigin: LogName?
        var repeated: [Repeated] = []
    }

    /// The number of events in the database.
    var position: Int64
    /// The number of the ledger's epoch.
    var epoch: Int64
    var loss: HistoryLoss
    var changes: LostChanges
    var plan: Plan

    private static let rows = 200

    func show(_ output: OutputForm, _ outcome: Outcome?) {
        guard output.isTable else { return Console.print(self.json(outcome), output) }
        self.showLoss()
        self.showChanges()
        guard let outcome else { return self.showPlan() }
        if let epoch = outcome.began, let restoration = self.plan.restoration {
            Console.print(
                "Epoch \(epoch) has begun. The version of every document is raised by \(restoration.raisedBy).")
        }
        if let origin = outcome.logOrigin {
            Console.print(
                "The transparency log goes on as \(origin). `pinledger log show` prints its new vkeys: give them to auditors."
            )
        }
        for repeated in outcome.repeated {
            let line = Self.text(of: repeated.source)
            Console.print(repeated.failure.map { "NOT repeated: \(line): \($0)" } ?? "Repeated: \(line)")
        }
        if outcome.began == nil, outcome.logOrigin == nil, outcome.repeated.isEmpty {
            return Console.print("There was nothing to record.")
        }
        Console.print("Restart every node now. Then make the lost changes that are still missing.")
    }

    private func showLoss() {
        guard !self.loss.isNone else {
            return Console.print(
                "The database goes on from everything that is known of it: it has \(self.position) events, and nothing is lost."
            )
        }
        for each in self.loss.contradictions { Console.print("\(each.source): \(each.fault).") }
        let known = self.loss.events.count
        if !self.loss.contradictions.isEmpty {
            let count = Int64(known) + self.loss.unknownEvents
            Console.print(
                "Lost: \(count) event\(count == 1 ? "" : "s") from position \(self.loss.keptSize) on"
                    + (self.loss.unknownEvents > 0 ? ", \(self.loss.unknownEvents) of which no source has." : "."))
        }
        if known > 0 {
            var table = Table(["POSITION", "TIME", "WHO", "STREAM", "WHAT", "WHY"])
            for entry in self.loss.events.prefix(Self.rows) {
                table.add([
                    "\(entry.position)", LocalTime.text(entry.time), entry.origin.actor.name, entry.stream.text,
                    EventLine.text(of: entry.json), entry.origin.reason?.text ?? "-",
                ])
            }
            Console.print(table)
            if known > Self.rows { Console.print("… and \(known - Self.rows) more: --output json shows all.") }
        }
        if !self.loss.overtaken.isEmpty {
            var table = Table(["APP", "SERVED VERSION", "VERSION IN THE DATABASE"])
            for each in self.loss.overtaken {
                table.add([each.app.text, "\(each.served)", each.present.map { "\($0)" } ?? "the app is lost"])
            }
            Console.print(table)
        }
    }

    private func showChanges() {
        if self.loss.isPruned {
            Console.error(
                "Lost changes from before epoch \(self.epoch) are left out: events since then are pruned, so that nothing shows which were made again."
            )
        }
        for source in self.changes.revivals {
            Console.print("In force again, because its end is lost: \(Self.text(of: source)) (\(source.stream)).")
        }
        for repetition in self.changes.repetitions {
            Console.print(
                "Can be repeated with --repeat: \(Self.text(of: repetition.source)) (\(repetition.source.stream)).")
        }
        for entry in self.changes.blocked {
            Console.print(
                "Can be repeated once its app or host is made again, by this command with --repeat: \(Self.text(of: .event(entry))) (\(entry.stream))."
            )
        }
    }

    static func text(of source: LostChanges.Source) -> String {
        switch source {
        case .event(let entry): EventLine.text(of: entry.json)
        case .document(_, let version, let subject): "\(subject), by version \(version) of the document"
        }
    }

    /// The evidence of a lost change: the position of its event, or the document's app and version.
    private static func json(of source: LostChanges.Source) -> JSON {
        switch source {
        case .event(let entry): .integer(entry.position)
        case .document(let app, let version, let subject):
            ["app": .string(app.text), "version": .integer(version), "change": .string("\(subject)")]
        }
    }

    private func showPlan() {
        if let restoration = self.plan.restoration {
            Console.print(
                "Would begin epoch \(restoration.epoch), and raise the version of every document by \(restoration.raisedBy)."
            )
        }
        if let origin = self.plan.logOrigin { Console.print("Would give the transparency log the name \(origin).") }
        guard self.plan.restoration != nil || self.plan.logOrigin != nil || !self.changes.repetitions.isEmpty else {
            return
        }
        let option = self.changes.repetitions.isEmpty ? "--reason" : "--reason and --repeat"
        Console.print("Nothing was recorded. To go on, stop the nodes and run this command again with \(option).")
    }

    private func json(_ outcome: Outcome?) -> JSON {
        .members([
            "position": .integer(self.position),
            "kept_size": .integer(self.loss.keptSize),
            "lost": self.loss.lost.map { ["size": .integer($0.size), "root": .string(Base64.encode($0.root))] },
            "contradictions": .array(
                self.loss.contradictions.map { ["source": .string($0.source), "fault": .string("\($0.fault)")] }),
            "lost_events": .array(self.loss.events.map(\.json)),
            "unknown_events": .integer(self.loss.unknownEvents),
            "documents": .array(
                self.loss.overtaken.map { each in
                    .members([
                        "app": .string(each.app.text), "served_version": .integer(each.served),
                        "version": each.present.map { .integer($0) },
                    ])
                }),
            "in_force_again": .array(self.changes.revivals.compactMap(\.entry).map { .integer($0.position) }),
            "in_force_again_by_documents": .array(
                self.changes.revivals.filter { $0.entry == nil }.map { Self.json(of: $0) }),
            "repeatable": .array(self.changes.repetitions.compactMap(\.source.entry).map { .integer($0.position) }),
            "repeatable_by_documents": .array(
                self.changes.repetitions.map(\.source).filter { $0.entry == nil }.map { Self.json(of: $0) }),
            "blocked": .array(self.changes.blocked.map { .integer($0.position) }),
            "epoch": self.plan.restoration.map { .integer($0.epoch) },
            "raised_by": self.plan.restoration.map { .integer($0.raisedBy) },
            "log_origin": self.plan.logOrigin.map { .string($0.text) },
            "recorded": .bool(outcome != nil),
            "repeated": outcome.map { outcome in
                .array(
                    outcome.repeated.map { each in
                        .members([
                            "position": each.source.entry.map { .integer($0.position) },
                            "document": each.source.entry == nil ? Self.json(of: each.source) : nil,
                            "failure": each.failure.map { .string($0) },
                        ])
                    })
            },
        ])
    }
}
