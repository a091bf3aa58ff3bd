import PinWire
import Pinning

extension Problem {
    /// A refusal that is about proposed changes and their approvals.
    init(change refusal: Refusal) {
        switch refusal {
        case .approvalRequired(let rules):
            let people = rules.map(\.approvals).max() ?? 1
            self.init(
                .approvalRequired,
                "\(Self.list(rules)) ask\(rules.count == 1 ? "s" : "") for the approval of "
                    + "\(people == 1 ? "another person" : "\(people) other people").")
            // Their apps are not named: the caller may not see all of them.
            self.members["rules"] = .array(
                rules.map { ["rule": .string($0.name.text), "approvals": .integer(Int64($0.approvals))] })
        case .approvalsMissing(let id, let needs):
            let missing = needs.map { "\($0.rule.name) (\($0.approvers.count) of \($0.rule.approvals))" }
            self.init(.approvalsMissing, "The change \(id) lacks approvals: \(missing.joined(separator: ", ")).")
            self.members["approvals_needed"] = .array(needs.map(\.json))
        case .approverNotPerson:
            self.init(
                .approvalNotCounted, "Your token belongs to no person, so that nobody could tell whose approval it is.")
        case .approvalUnsigned(let id):
            self.init(
                .approvalUnsigned,
                "Your approval of the change \(id) is not signed, and it counts only with a signature.")
        case .approvalKeyUnknown(let kid):
            self.init(.approvalKeyUnknown, "The principal has no approval key \(kid.printable).")
        case .approvalKeyTaken(let kid): self.init(.approvalKeyTaken, "Another person has the approval key \(kid).")
        case .tooManyApprovalKeys(let limit):
            self.init(.limitReached, "A person has at most \(limit) approval keys: remove one first.")
        case .approvalOfOwnChange(let id):
            self.init(.approvalNotCounted, "You had a part in the change \(id), so that you cannot judge it.")
        case .approvalRuleUnknown(let name): self.init(.approvalRuleUnknown, "There is no approval rule \(name).")
        case .approvalRuleMisnamed(let name, let instead):
            self.init(
                .approvalRuleMisnamed,
                "A rule of who manages the approvals of some apps alone has a name that ends as those apps ask: \(instead) instead of \(name)."
            )
        case .tooManyApprovalRules(let limit): self.init(.limitReached, "At most \(limit) approval rules are allowed.")
        case .tooFewApprovers(let needed, let present):
            self.init(
                .approversMissing,
                "The rule asks for \(needed) approval\(needed == 1 ? "" : "s"), and \(present == 0 ? "no other person" : present == 1 ? "1 other person" : "\(present) other people") could approve on all of its apps."
            )
        case .freezeExists(let id): self.init(.freezeExists, "The freeze \(id) already exists.")
        case .freezeUnknown(let id): self.init(.freezeUnknown, "There is no freeze \(id.printable).")
        case .tooManyFreezes(let limit):
            self.init(.limitReached, "At most \(limit) freezes may stand at the same time: remove one first.")
        case .frozen(let id, let until): self.init(.frozen, "The freeze \(id) stands against it until \(until).")
        case .commandNotProposable:
            self.init(.changeNotProposable, "This operation is carried out at once or not at all.")
        case .changeExists(let id): self.init(.changeExists, "The change \(id) already exists.")
        case .changeUnknown(let id): self.init(.changeUnknown, "There is no change \(id.printable).")
        case .changeIsDraft(let id): self.init(.changeState, "The change \(id) is a draft: it must be proposed first.")
        case .changeClosed(let id, let status): self.init(.changeState, "The change \(id) is \(status.rawValue).")
        case .changeNotDue(let id, let time):
            self.init(.changeState, "The change \(id) is to be applied at \(time), and not before.")
        case .changeNeedsNoReview(let id):
            self.init(.changeState, "The change \(id) did not bypass approvals, or was reviewed already.")
        case .changeOfOthers(let id): self.init(.changeOfOthers, "You had no part in the change \(id).")
        case .changeContentStale(let id):
            self.init(.changeContentStale, "The content of the change \(id) is not the one that you name.")
        case .changeConflict(let id):
            self.init(
                .changeConflict,
                "The commands of the change \(id) would record other events now than those that were approved.")
        case .changeWithoutEffect: self.init(.changeWithoutEffect, "Its commands would record no event.")
        case .proposerNotPrincipal:
            self.init(
                .proposerUnknown,
                "A rule asks for approvals of this, and your token belongs to neither a person nor a service account.")
        case .tooManyCommands(let limit): self.init(.limitReached, "A change has 1 to \(limit) commands.")
        case .tooManyChanges(let limit):
            self.init(.limitReached, "At most \(limit) changes may be open: withdraw some, or wait until they expire.")
        case .tooManyContributors(let limit):
            self.init(.limitReached, "At most \(limit) people take part in one change.")
        // Not back to where it came from: a refusal without a line here must not end the server.
        default: self.init(.internalError, "An unexpected error occurred.")
        }
    }

    private static func list(_ rules: [ApprovalRule]) -> String {
        let names = rules.prefix(5).map(\.name.text).joined(separator: ", ")
        let more = rules.count > 5 ? " and \(rules.count - 5) more" : ""
        return "The approval rule\(rules.count == 1 ? "" : "s") \(names)\(more)"
    }
}
