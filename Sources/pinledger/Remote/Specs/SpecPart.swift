import PinWire

extension SpecPlans {
    /// One operation of the API that a plan consists of, to be carried out in its place.
    struct Part {
        /// What people call it: an app's id, or an entry of what apps share.
        var name: String
        var isApp: Bool { self.stream == nil }
        var method: String
        var body: [String: JSON]
        /// The stream of an entry; nil for an app.
        var stream: SharedStep.Stream?
        /// The name of the principal that it adds.
        var principal: String?
        /// Where it is sent, given the ids of the principals that were added before; nil where one is missing.
        var path: ([String: String]) -> String?
    }

    /// The parts in their order: what apps need, the apps, and then rules that could hold them up.
    ///
    /// - Parameter all: Whether the apps of the plan are taken as they are: one of a file has no answers.
    func parts(all: Bool) -> [Part] {
        // Each app is changed for the events of its dry run and no others.
        let apps = (all ? self.plans : self.changed).map { plan in
            let path = Self.path(plan.spec.app, prunes: self.terms.prunes)
            let fixed = plan.hash.map { "\(path)\(path.contains("?") ? "&" : "?")plan_hash=\($0)" } ?? path
            return Part(name: plan.spec.app, method: "PUT", body: plan.spec.members) { _ in fixed }
        }
        return (self.shared?.before ?? []).map(Self.part) + apps + (self.shared?.after ?? []).map(Self.part)
    }

    /// What the terms of the plan add to each of its operations.
    var options: ChangeOptions {
        var options = ChangeOptions.none
        options.reason = self.terms.reason
        options.force = self.terms.isForced
        return options
    }

    private static func part(_ step: SharedStep) -> Part {
        Part(
            name: step.title, method: step.method, body: step.members, stream: step.stream,
            principal: step.kind == .principal && step.action == .add ? step.name : nil, path: step.path)
    }
}
