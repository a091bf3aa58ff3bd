package import PinWire
import Synchronization

/// What has become of this node's pushes, app by app. It is forgotten when the process ends.
package final class PushBook: Sendable {
    package struct Entry: Hashable, Sendable {
        package var project: String
        /// When the project was last known to have what the ledger says, and how far the ledger was.
        package var success: (at: Timestamp, position: Int64)? {
            guard let inStepAt, let position else { return nil }
            return (inStepAt, position)
        }
        /// The version of the project's template then.
        package var templateVersion: String?
        /// Conditions of others under which our parameter has values.
        package var foreignConditions: [String] = []
        /// Why it is not in step; nil where it is.
        package var trouble: Trouble?
        private var inStepAt: Timestamp?
        private var position: Int64?

        init(project: String) {
            self.project = project
        }

        mutating func succeed(at time: Timestamp, position: Int64) {
            self.inStepAt = time
            self.position = position
            self.trouble = nil
        }
    }

    package struct Trouble: Hashable, Sendable {
        package var at: Timestamp
        package var detail: String
        package var advice: String?

        package init(at: Timestamp, detail: String, advice: String?) {
            self.at = at
            self.detail = detail
            self.advice = advice
        }
    }

    /// The projects that this node has an account for.
    package let projects: Set<String>
    private let entries = Mutex<[AppID: Entry]>([:])

    package init(projects: Set<String>) {
        self.projects = projects
    }

    package func entry(of app: AppID) -> Entry? { self.entries.withLock { $0[app] } }

    /// A project has what the ledger says of an app.
    package func succeed(
        _ app: AppID, in project: String, at time: Timestamp, position: Int64, templateVersion: String?,
        foreignConditions: [String]
    ) {
        self.change(app, project) { entry in
            entry.succeed(at: time, position: position)
            entry.templateVersion = templateVersion
            entry.foreignConditions = foreignConditions
        }
    }

    /// A project has what the ledger says of an app still, which has moved on.
    package func advance(_ app: AppID, in project: String, at time: Timestamp, position: Int64) {
        self.change(app, project) { $0.succeed(at: time, position: position) }
    }

    package func fail(_ app: AppID, in project: String, _ trouble: Trouble) {
        self.change(app, project) { $0.trouble = trouble }
    }

    /// Forgets the apps of a project that no longer name it.
    package func keep(_ apps: Set<AppID>, of project: String) {
        self.entries.withLock { entries in
            entries = entries.filter { $0.value.project != project || apps.contains($0.key) }
        }
    }

    private func change(_ app: AppID, _ project: String, _ body: (inout Entry) -> Void) {
        self.entries.withLock { entries in
            var entry = entries[app].flatMap { $0.project == project ? $0 : nil } ?? Entry(project: project)
            body(&entry)
            entries[app] = entry
        }
    }
}
