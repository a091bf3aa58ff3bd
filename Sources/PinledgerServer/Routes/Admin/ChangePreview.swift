import PinWire
import Pinning

/// A proposed change as it stands: its content, what it would do now, and what it still waits for.
struct ChangePreview: Sendable {
    private let change: ProposedChange
    private let state: LedgerState
    private let services: Services

    init(of change: ProposedChange, in state: LedgerState, _ services: Services) {
        self.change = change
        self.state = state
        self.services = services
    }

    /// The change, and for one that is open its `preview`.
    var json: JSON {
        let now = self.services.clock()
        guard case .object(var members) = self.change.json(at: now) else { return .null }
        if self.change.isOpen(at: now) { members["preview"] = self.preview(at: now) }
        return .object(members)
    }

    private func preview(at now: Timestamp) -> JSON {
        let plan: ChangePlan
        do {
            plan = try self.state.plan(of: self.change, in: self.services.environment.context(at: now))
        } catch { return ["ready": false, "problem": Self.json(of: Problem(error))] }
        var members: [String: JSON] = [:]
        members["events"] = plan.json
        members["guard_rail_findings"] = .array(plan.findings.map(\.json))
        let after = self.state.after(plan)
        var streams: [StreamID] = []
        for effect in plan.effects where !streams.contains(effect.stream) { streams.append(effect.stream) }
        members["differences"] = .array(
            streams.map { stream in
                [
                    "stream": .string(stream.text),
                    "difference": self.state.difference(of: stream, to: after).json,
                ]
            })
        let needs = self.state.access.needs(of: self.change, plan, at: now)
        members["approvals_needed"] = .array(needs.map(\.json))
        do {
            try self.state.checkMayApply(self.change, plan, at: now)
            members["ready"] = .bool(self.change.recordedStatus != .draft)
        } catch {
            members["ready"] = false
            members["problem"] = Self.json(of: Problem(error))
        }
        return .object(members)
    }

    private static func json(of problem: Problem) -> JSON {
        ["type": .string("/problems/\(problem.type.rawValue)"), "detail": .string(problem.detail)]
    }
}
