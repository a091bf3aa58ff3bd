package import ClientFormats
package import PinWire

/// Brings one project in step, once: reads its template, merges, has the service check the result, and replaces the
/// template that was read. It writes nothing where nothing differs, and never replaces a template that it has not read.
///
/// A part of one app that the project refuses holds up no other app, and rollouts hold up no kill switch: refused parts
/// are left out, first the rollouts and then the whole part.
///
/// If the process dies in between, the project has the old template or the new one, and the next push finds out which.
package struct ProjectPush: Sendable {
    /// The state of a project after an earlier push.
    package struct Known: Hashable, Sendable {
        /// The parts to write, and the apps without any.
        package var parts: [RemoteConfigPart]
        package var spared: Set<AppID>
        package var etag: String
        /// By parameter, others' conditions under which our parameters have values.
        package var foreignConditions: [String: [String]] = [:]
        /// Apps of which nothing was written.
        package var refused: [AppID: PushFailure] = [:]
        /// Apps whose rollouts were left out.
        package var withheld: [AppID: PushFailure] = [:]

        /// The apps whose parts the project has.
        package var put: Set<AppID> { Set(self.parts.map(\.app).filter { self.refused[$0] == nil }) }
    }

    /// The result of one push.
    package struct Outcome: Sendable {
        /// The state for the next push.
        package var known: Known
        /// The changes, as sentences without a full stop; empty where nothing was written.
        package var differences: [String]
        /// The version of the template that the project has now.
        package var templateVersion: String?
    }

    private let store: any RemoteConfigStore

    /// How often a template is read again because another writer was quicker.
    private static let attempts = 5

    package init(store: any RemoteConfigStore) {
        self.store = store
    }

    /// Pushes.
    ///
    /// - Parameters:
    ///   - spared: Apps of the project with nothing to write now.
    ///   - holders: Apps that were pushed before, and come before others that want the same parameter.
    ///   - known: The state after the last push. While the template has its ETag, and nothing else is to be written,
    ///     nothing is compared or asked again: neither refused parts, nor values that the service stores in its own
    ///     spelling, which this process would otherwise write again and again. Other nodes write such values again
    ///     after each of these versions.
    package func run(
        _ parts: [RemoteConfigPart], position: Int64, sparing spared: Set<AppID> = [], holders: Set<AppID> = [],
        known: Known? = nil
    ) async throws(PushFailure) -> Outcome {
        for attempt in 0..<Self.attempts {
            if attempt > 0 { try? await Task.sleep(for: .milliseconds(.random(in: 50...500))) }
            let stored: StoredTemplate
            do throws(FirebaseFailure) { stored = try await self.store.get() } catch { throw .service(error) }
            if let known, known.etag == stored.etag, known.parts == parts, known.spared == spared {
                return Outcome(known: known, differences: [], templateVersion: Self.version(of: stored))
            }
            let trial = TemplateFitter(
                store: self.store, stored: stored, apps: Set(parts.map(\.app)), spared: spared, holders: holders,
                position: position)
            do throws(PushFailure) {
                let (merge, refused, withheld) = try await trial.settle(
                    parts, known: known?.etag == stored.etag ? known : nil)
                var known = Known(
                    parts: parts, spared: spared, etag: stored.etag,
                    foreignConditions: merge?.foreignConditions ?? [:], refused: refused, withheld: withheld)
                guard let merge, let body = merge.body else {
                    return Outcome(known: known, differences: [], templateVersion: Self.version(of: stored))
                }
                let new: StoredTemplate
                do throws(FirebaseFailure) { new = try await self.store.put(body, over: stored.etag) } catch {
                    throw .service(error)
                }
                known.etag = new.etag
                return Outcome(
                    known: known, differences: merge.differences, templateVersion: Self.version(of: new))
            } catch {
                guard error == .service(.overtaken) else { throw error }
            }
        }
        throw .service(.overtaken)
    }

    /// The version that a template states.
    private static func version(of stored: StoredTemplate) -> String? {
        let limits = JSONLimits(depth: 64, nodes: 1_000_000)
        return (try? JSON(parsing: stored.text, limits: limits))?["version"]?["versionNumber"]?.stringValue
    }
}
