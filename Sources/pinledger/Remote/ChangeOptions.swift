import ArgumentParser
import PinWire
import Pinning

/// The flags of commands that are carried out at once or not at all.
struct DirectChangeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Reason for the change. The ledger keeps it permanently.", valueName: "text"))
    var reason: String?

    @Flag(help: "Override rules that can be overridden. Needs --reason.")
    var force = false

    @Flag(help: "Show what would be recorded, and record nothing.")
    var dryRun = false

    @Option(help: ArgumentHelp("Fail unless the stream is at this version.", valueName: "version"))
    var ifVersion: EpochNumber?

    @Option(
        help: ArgumentHelp("Key of the change. A change repeated with the same key is recorded once.", valueName: "key")
    )
    var idempotencyKey: String?

    /// The same, carried out by itself.
    var options: ChangeOptions {
        var options = ChangeOptions.none
        options.direct = self
        return options
    }
}

/// How a change is proposed, and made without approvals.
struct ProposalOptions: ParsableArguments {
    @Flag(
        help:
            "Propose it instead of making it: others look at it first, and approve it where a rule asks for that. Needs --reason."
    )
    var propose = false

    @Option(
        help: ArgumentHelp(
            "Add it to this proposed change (chg_…), or to a new draft with the word draft.", valueName: "change"))
    var addTo: String?

    @Option(
        help: ArgumentHelp(
            "With --propose: have the server apply it at this time (\(TimeInput.moments) or 12h), or later, as soon as it has its approvals.",
            valueName: "time"))
    var notBefore: String?

    @Flag(
        help: "Make it without the approvals that it needs. Needs --reason; another person reviews it afterwards.")
    var bypassApprovals = false

    /// No options at all.
    static var none: ProposalOptions {
        var options = ProposalOptions()
        options.propose = false
        options.addTo = nil
        options.notBefore = nil
        options.bypassApprovals = false
        return options
    }

    /// Where the change goes if it is not made by itself, as the query says it.
    var query: [String] {
        get throws {
            guard [self.propose, self.addTo != nil, self.bypassApprovals].count(where: { $0 }) <= 1 else {
                throw CommandFailure("give one of --propose, --add-to and --bypass-approvals", status: .usage)
            }
            guard self.notBefore == nil || self.propose || self.addTo != nil else {
                throw CommandFailure("--not-before goes with --propose or --add-to", status: .usage)
            }
            var query: [String] = []
            if let change = self.propose ? "new" : self.addTo { query.append("change=\(APIClient.escaped(change))") }
            if let notBefore {
                query.append("not_before=\(APIClient.escaped(try TimeInput.rfc3339(notBefore, .ahead)))")
            }
            if self.bypassApprovals { query.append("bypass_approvals=true") }
            return query
        }
    }
}

/// The flags of commands that change something, or propose it.
struct ChangeOptions: JoinedArguments {
    var direct = DirectChangeOptions()
    var proposal = ProposalOptions()

    init() {}

    init(joining decoder: any Decoder) throws {
        self.direct = try DirectChangeOptions(from: decoder)
        self.proposal = try ProposalOptions(from: decoder)
    }

    var groups: [any ParsableArguments] { [self.direct, self.proposal] }

    /// No options at all.
    static var none: ChangeOptions {
        var direct = DirectChangeOptions()
        direct.reason = nil
        direct.force = false
        direct.dryRun = false
        direct.ifVersion = nil
        direct.idempotencyKey = nil
        var options = ChangeOptions()
        options.direct = direct
        options.proposal = .none
        return options
    }

    var reason: String? {
        get { self.direct.reason }
        set { self.direct.reason = newValue }
    }
    var force: Bool {
        get { self.direct.force }
        set { self.direct.force = newValue }
    }
    var dryRun: Bool {
        get { self.direct.dryRun }
        set { self.direct.dryRun = newValue }
    }
    var ifVersion: EpochNumber? {
        get { self.direct.ifVersion }
        set { self.direct.ifVersion = newValue }
    }
    var idempotencyKey: String? {
        get { self.direct.idempotencyKey }
        set { self.direct.idempotencyKey = newValue }
    }
}
