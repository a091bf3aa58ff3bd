import Formats
import PinWire

/// Finds out how much of what is to be put over one template the service takes.
struct Trial: Sendable {
    let store: any RemoteConfigStore
    let stored: StoredTemplate
    /// All apps that there is something to put of.
    let apps: Set<AppID>
    let spared: Set<AppID>
    let holders: Set<AppID>
    let position: Int64

    private enum Verdict {
        case taken(RemoteConfigMerge)
        case refused(PushFailure)
    }

    typealias Settlement = (
        merge: RemoteConfigMerge?, refused: [AppID: PushFailure], withheld: [AppID: PushFailure]
    )

    /// The merge of all that is taken, which is nil where nothing is, and what is left out.
    ///
    /// Everything, if it is taken. Else each part by itself, and without its rollouts where it is refused; then those
    /// that are taken, together; and where they are not, since each makes the template larger, all without rollouts.
    func settle(_ parts: [RemoteConfigPart]) async throws(PushFailure) -> Settlement {
        var failure: PushFailure
        switch try await self.attempt(parts) {
        case .taken(let merge): return Self.settlement(merge, of: parts, [:], [:])
        case .refused(let why): failure = why
        }
        var refused: [AppID: PushFailure] = [:]
        var withheld: [AppID: PushFailure] = [:]
        var chosen: [RemoteConfigPart] = []
        for part in parts {
            // One part alone was just tried.
            var verdict = Verdict.refused(failure)
            if parts.count > 1 { verdict = try await self.attempt([part]) }
            guard case .refused(let why) = verdict else {
                chosen.append(part)
                continue
            }
            let light = part.withoutRollouts
            if light != part, case .taken = try await self.attempt([light]) {
                chosen.append(light)
                withheld[part.app] = why
            } else {
                refused[part.app] = why
            }
        }
        var tried = parts
        for choice in [chosen, chosen.map(\.withoutRollouts)] where !choice.isEmpty && choice != tried {
            tried = choice
            switch try await self.attempt(choice) {
            case .taken(let merge):
                for part in parts where withheld[part.app] == nil && !choice.contains(part) {
                    if refused[part.app] == nil { withheld[part.app] = failure }
                }
                return Self.settlement(merge, of: choice, refused, withheld)
            case .refused(let why): failure = why
            }
        }
        for part in chosen { refused[part.app] = failure }
        return (nil, refused, [:])
    }

    private static func settlement(
        _ merge: RemoteConfigMerge, of parts: [RemoteConfigPart], _ refused: [AppID: PushFailure],
        _ withheld: [AppID: PushFailure]
    ) -> Settlement {
        let conflicts = merge.conflicts.mapValues { PushFailure.refused($0) }
        return (merge, refused.merging(conflicts) { first, _ in first }, withheld.filter { conflicts[$0.key] == nil })
    }

    private func attempt(_ parts: [RemoteConfigPart]) async throws(PushFailure) -> Verdict {
        let merge: RemoteConfigMerge
        do throws(RemoteConfigMergeRefusal) {
            merge = try RemoteConfigMerge(
                parts, into: self.stored.text, position: self.position,
                sparing: self.spared.union(self.apps.subtracting(parts.map(\.app))), holders: self.holders)
        } catch {
            guard error.isOfSize else { throw .refused(error) }
            return .refused(.refused(error))
        }
        guard let body = merge.body else { return .taken(merge) }
        do throws(FirebaseFailure) { try await self.store.validate(body, over: self.stored.etag) } catch {
            guard case .invalid = error else { throw .service(error) }
            return .refused(.service(error))
        }
        return .taken(merge)
    }
}
