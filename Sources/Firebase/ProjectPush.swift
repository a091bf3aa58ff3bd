package import Formats
package import PinWire

/// Why a project is not in step.
package enum PushFailure: Error, Hashable, Sendable, CustomStringConvertible {
    case service(FirebaseFailure)
    case refused(RemoteConfigMergeRefusal)

    package var description: String {
        switch self {
        case .service(let failure): failure.description
        case .refused(let refusal): refusal.description
        }
    }

    package var advice: String? {
        switch self {
        case .service(let failure): failure.advice
        case .refused: nil
        }
    }
}

/// Brings one project in step, once: reads its template, merges, has the service check what came of it, and puts it
/// over what was read. Nothing is put where nothing differs, and nothing is ever put over what was not read.
///
/// If the process dies in between, the project has the old template or the new one, and the next push finds out which.
package struct ProjectPush: Sendable {
    /// What a project is known to have from an earlier push.
    package struct Known: Hashable, Sendable {
        package var parts: [RemoteConfigPart]
        package var etag: String
        /// Conditions of others under which our parameters have values.
        package var foreignConditions: [String]
    }

    package struct Outcome: Sendable {
        /// For the next push. Nil where some apps were left out.
        package var known: Known?
        /// What was changed, as sentences without a full stop; empty where nothing was put.
        package var differences: [String]
        /// Conditions of others under which our parameters have values.
        package var foreignConditions: [String]
        /// The version of the template that the project has now.
        package var templateVersion: String?
        /// Apps whose part the service refuses, and that were left out, with what it says.
        package var refused: [AppID: FirebaseFailure]
    }

    private let service: RemoteConfigService

    /// How often a template is read anew because somebody else was quicker.
    private static let attempts = 5

    package init(service: RemoteConfigService) {
        self.service = service
    }

    /// Pushes.
    ///
    /// - Parameters:
    ///   - spared: Apps of the project that there is nothing to put of now.
    ///   - known: What the last push left. A template with its ETag is not compared again, so that a service that keeps
    ///     something in another spelling is not written to for ever.
    package func run(
        _ parts: [RemoteConfigPart], position: Int64, sparing spared: [RemoteConfigOwner] = [], known: Known? = nil,
        isForced: Bool = false
    ) async throws(PushFailure) -> Outcome {
        var (parts, spared) = (parts, spared)
        var refused: [AppID: FirebaseFailure] = [:]
        for attempt in 0..<Self.attempts {
            if attempt > 0 { try? await Task.sleep(for: .milliseconds(.random(in: 50...500))) }
            let stored = try await self.read()
            if let known, known.etag == stored.etag, known.parts == parts {
                return Outcome(
                    known: known, differences: [], foreignConditions: known.foreignConditions,
                    templateVersion: Self.version(of: stored), refused: refused)
            }
            let merge = try Self.merge(parts, stored, position, spared, isForced)
            func outcome(_ stored: RemoteConfigService.Stored) -> Outcome {
                Outcome(
                    known: refused.isEmpty
                        ? Known(parts: parts, etag: stored.etag, foreignConditions: merge.foreignConditions) : nil,
                    differences: merge.differences, foreignConditions: merge.foreignConditions,
                    templateVersion: Self.version(of: stored), refused: refused)
            }
            guard let body = merge.body else { return outcome(stored) }
            do throws(FirebaseFailure) {
                try await self.service.validate(body, over: stored.etag)
                return outcome(try await self.service.put(body, over: stored.etag))
            } catch {
                switch error {
                case .overtaken: continue
                case .invalid where parts.count > 1 && refused.isEmpty:
                    // One app's trouble is not to keep another's kill switch from its devices.
                    refused = try await self.invalid(parts, stored, position, spared)
                    guard !refused.isEmpty, refused.count < parts.count else { throw .service(error) }
                    spared += parts.filter { refused[$0.app] != nil }.map(\.owner)
                    parts.removeAll { refused[$0.app] != nil }
                default: throw .service(error)
                }
            }
        }
        throw .service(.overtaken)
    }

    /// The apps whose part by itself is refused.
    private func invalid(
        _ parts: [RemoteConfigPart], _ stored: RemoteConfigService.Stored, _ position: Int64,
        _ spared: [RemoteConfigOwner]
    ) async throws(PushFailure) -> [AppID: FirebaseFailure] {
        var refused: [AppID: FirebaseFailure] = [:]
        for part in parts {
            let others = parts.filter { $0.app != part.app }.map(\.owner)
            guard let body = try Self.merge([part], stored, position, spared + others, true).body else { continue }
            do throws(FirebaseFailure) { try await self.service.validate(body, over: stored.etag) } catch {
                guard case .invalid = error else { throw .service(error) }
                refused[part.app] = error
            }
        }
        return refused
    }

    private func read() async throws(PushFailure) -> RemoteConfigService.Stored {
        do throws(FirebaseFailure) { return try await self.service.get() } catch { throw .service(error) }
    }

    private static func merge(
        _ parts: [RemoteConfigPart], _ stored: RemoteConfigService.Stored, _ position: Int64,
        _ spared: [RemoteConfigOwner], _ isForced: Bool
    ) throws(PushFailure) -> RemoteConfigMerge {
        do throws(RemoteConfigMergeRefusal) {
            return try RemoteConfigMerge(
                parts, into: stored.text, position: position, sparing: spared, isForced: isForced)
        } catch {
            throw .refused(error)
        }
    }

    private static func version(of stored: RemoteConfigService.Stored) -> String? {
        let json = try? JSON(parsing: stored.text, limits: JSONLimits(depth: 64, nodes: 1_000_000))
        return json?["version"]?["versionNumber"]?.stringValue.map { FirebaseHTTP.printable(String($0.prefix(20))) }
    }
}
