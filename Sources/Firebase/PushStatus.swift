package import PinWire
import Synchronization

/// The results of this node's pushes, app by app. They are lost when the process ends.
package final class PushStatus: Sendable {
    /// When the project was last known to match the ledger.
    package struct Success: Hashable, Sendable {
        package var at: Timestamp
        /// The ledger's position then.
        package var position: Int64
        /// The version of the app's document whose pins the project has.
        package var documentVersion: Int64?

        package init(at: Timestamp, position: Int64, documentVersion: Int64?) {
            self.at = at
            self.position = position
            self.documentVersion = documentVersion
        }
    }

    /// The state of the project's template.
    package struct Template: Hashable, Sendable {
        package var version: String?
        /// Others' conditions under which the app's parameter has values.
        package var foreignConditions: [String] = []
        /// Why rollouts are left out of it; nil where all are there.
        package var withheld: String?

        package init(version: String? = nil, foreignConditions: [String] = [], withheld: String? = nil) {
            self.version = version
            self.foreignConditions = foreignConditions
            self.withheld = withheld
        }
    }

    /// The state of one app's pushes.
    package struct Entry: Hashable, Sendable {
        package var project: String
        /// Nil before the first.
        package var success: Success?
        /// As of the last success.
        package var template = Template()
        /// Why it is not in step; nil where no trouble is known.
        package var trouble: Trouble?

        init(project: String) {
            self.project = project
        }

        /// Whether the project matches the ledger for an app whose document has this version now.
        package func isInStep(documentVersion: Int64?) -> Bool {
            self.trouble == nil && self.success.map { $0.documentVersion == documentVersion } ?? false
        }
    }

    /// The last failure of a push, for people; nothing in it is secret.
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

    /// The apps that were pushed, or should have been.
    package var all: [AppID: Entry] { self.entries.withLock { $0 } }

    package func entry(of app: AppID) -> Entry? { self.entries.withLock { $0[app] } }

    /// Records that a project matches the ledger for an app.
    ///
    /// - Parameter template: The template's state; nil where it was not read again.
    package func succeed(_ app: AppID, in project: String, _ success: Success, template: Template? = nil) {
        self.change(app, project) { entry in
            entry.success = success
            entry.trouble = nil
            if let template { entry.template = template }
        }
    }

    /// Records why an app is not in step; the last success stays known.
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
