import PinWire

// Names of approval rules are of the whole installation. So that a manager of some apps learns nothing of others' rules by setting one,
// the names that such a manager may give new rules end as the apps ask: others have none of those.

extension ApprovalRule {
    /// Hexadecimal digits of an ending: too many to find a pattern of one's own with the ending of another one.
    private static let endingDigits = 16

    /// The ending of names for rules on a pattern of apps.
    private static func ending(for pattern: AppPattern) -> String {
        "-\(Hex.encode(sha256(Array(pattern.description.utf8))).prefix(Self.endingDigits))"
    }

    /// True where the name ends as one of the rule's own patterns asks.
    var isNamedAfterApps: Bool {
        self.apps.contains { pattern in
            let ending = Self.ending(for: pattern)
            return self.name.text.hasSuffix(ending) && self.name.text.utf8.count > ending.utf8.count
        }
    }

    /// The name that the rule has for a manager of its apps: the given one, cut where it is too long, with the ending of the first
    /// pattern.
    var nameAfterApps: RoleName {
        guard !self.isNamedAfterApps, let first = self.apps.first else { return self.name }
        let ending = Self.ending(for: first)
        let text = self.name.text.prefix(RoleName.limit - ending.utf8.count) + ending
        return (try? RoleName(String(text))) ?? self.name
    }
}

extension Access {
    /// Refuses a name from which a manager of some apps alone would learn which names others' rules have: the same for a taken name
    /// and a free one.
    ///
    /// A rule on apps that the commander manages keeps the name that it has.
    func checkName(of rule: ApprovalRule, in context: DecisionContext) throws(Refusal) {
        guard !context.rights.allowsEverywhere(.manageApprovals) else { return }
        let own = self.approvalRules[rule.name].flatMap { known in
            context.rights.allows(.manageApprovals, on: known.apps) ? known : nil
        }
        // The ending stays right: what else it would be named after are others' apps.
        if let own, rule.isNamedAfterApps || !own.isNamedAfterApps { return }
        guard rule.isNamedAfterApps else { throw .approvalRuleMisnamed(rule.name, instead: rule.nameAfterApps) }
        guard self.approvalRules[rule.name] == nil else { throw .permissionMissing(.manageApprovals, .everywhere) }
    }
}
