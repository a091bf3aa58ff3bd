import ClientFormats
import PinWire

/// Finds out how many of the parts for one template the service accepts.
struct TemplateFitter: Sendable {
    let store: any RemoteConfigStore
    let stored: StoredTemplate
    /// All apps with parts to write.
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

    /// The merge of all accepted parts, which is nil where none is, and the parts left out.
    ///
    /// It first tries everything. If that is refused, it tries each part by itself, and without its rollouts where it
    /// is refused; then the accepted parts together; if they are refused together, because each makes the template
    /// larger, all without rollouts; and finally as many of those as fit, kill switches first.
    ///
    /// - Parameter known: The result of the last push to this same template; parts that were refused then, and are the
    ///   same, are left out again before anything is tried part by part. Nil to try everything.
    func settle(
        _ parts: [RemoteConfigPart], known: ProjectPush.Known? = nil
    ) async throws(PushFailure) -> Settlement {
        if let known, let settlement = try await self.repeated(parts, known) { return settlement }
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
        var fitting: [RemoteConfigPart] = []
        var merge: RemoteConfigMerge?
        for part in chosen.sorted(by: self.goesBefore) {
            let light = part.withoutRollouts
            switch try await self.attempt(fitting + [light]) {
            case .taken(let taken):
                fitting.append(light)
                merge = taken
                if !parts.contains(light), withheld[part.app] == nil { withheld[part.app] = failure }
            case .refused(let why):
                refused[part.app] = why
                withheld[part.app] = nil
            }
        }
        // A node that lags behind, or a restored ledger, is behind with all of it.
        if merge == nil, case .refused(.newer(let parameter, let position, let here)) = failure {
            throw .refused(.newer(parameter: parameter, position: position, here: here))
        }
        return merge.map { Self.settlement($0, of: fitting, refused, withheld) } ?? (nil, refused, [:])
    }

    /// An app whose kill switch must not wait comes first, and then one that is there already.
    private func goesBefore(_ one: RemoteConfigPart, _ other: RemoteConfigPart) -> Bool {
        func rank(_ part: RemoteConfigPart) -> Int {
            part.conditions.contains(where: \.isKill) ? 0 : self.holders.contains(part.app) ? 1 : 2
        }
        return (rank(one), one.app) < (rank(other), other.app)
    }

    /// The accepted rest without the parts that were refused the last time, and are the same; nil where nothing was
    /// refused, where more is refused now, and where a part has become smaller, so that there may be room.
    private func repeated(
        _ parts: [RemoteConfigPart], _ known: ProjectPush.Known
    ) async throws(PushFailure) -> Settlement? {
        let counts = Dictionary(parts.map { ($0.app, $0.conditions.count) }) { first, _ in first }
        guard known.parts.allSatisfy({ $0.conditions.count <= counts[$0.app] ?? -1 }) else { return nil }
        // The merge decides which of two apps gets a parameter.
        let refused = known.refused.filter { !$0.value.isConflict }
        let same = parts.filter(known.parts.contains)
        let choice = parts.compactMap { part -> RemoteConfigPart? in
            guard same.contains(part) else { return part }
            guard refused[part.app] == nil else { return nil }
            return known.withheld[part.app] == nil ? part : part.withoutRollouts
        }
        guard !choice.isEmpty, choice != parts, case .taken(let merge) = try await self.attempt(choice) else {
            return nil
        }
        let apps = Set(same.map(\.app))
        return Self.settlement(
            merge, of: choice, refused.filter { apps.contains($0.key) },
            known.withheld.filter { apps.contains($0.key) })
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
            guard error.isOfOneApp else { throw .refused(error) }
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
