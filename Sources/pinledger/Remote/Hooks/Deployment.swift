import PinWire
import Pinning

/// How far the certificates of a ``CertificateDirectory`` are: what is kept there between two runs.
///
/// A value: ``DeploymentRun`` changes it and writes it down before each step that others see.
struct Deployment: Hashable {
    /// A certificate whose key servers do not present yet, or present while its rotation goes on.
    struct Renewal: Hashable {
        /// The name of its directory.
        var release: String
        var pin: Pin
        /// The name of its rotation.
        var rotation: String

        init(release: String, pin: Pin) {
            self.release = release
            self.pin = pin
            self.rotation = "renewal-\(release)"
        }
    }

    var app: String
    var hosts: [String]
    /// What the shell runs once other files are served; nil for nothing.
    var command: String?
    /// The rotations' goals, in the API's form.
    var goals: [String: JSON] = [:]
    /// How long before the served certificate ends the next one is served whatever its rotation waits for, in seconds; nil for never.
    var insistence: Int64?
    /// Whether the command still has to succeed for what is served.
    var isCommandDue = false
    /// The renewal whose rotation is under way.
    var current: Renewal?
    /// The one that comes after it.
    var next: Renewal?

    init(app: String, hosts: [String]) {
        self.app = app
        self.hosts = hosts
    }

    /// Takes up a certificate with another key than the served one: with the rotation of its key where there is one, else after the
    /// rotation that is under way, and in place of another one that waits.
    mutating func add(_ renewal: Renewal) {
        switch self.current {
        case nil: self.current = renewal
        case let current? where current.pin == renewal.pin: self.current?.release = renewal.release
        case _?: self.next = renewal
        }
    }

    /// Ends the current renewal, and takes up the next.
    mutating func finish() {
        self.current = self.next
        self.next = nil
    }

    /// The releases that are still needed, besides the served one.
    var releases: Set<String> { Set([self.current?.release, self.next?.release].compactMap { $0 }) }

    // MARK: JSON

    var json: JSON {
        .members([
            "app": .string(self.app), "hosts": .array(self.hosts.map { .string($0) }),
            "command": self.command.map { .string($0) }, "goals": .object(self.goals),
            "insistence_seconds": self.insistence.map { .integer($0) }, "command_due": .bool(self.isCommandDue),
            "current": self.current?.json, "next": self.next?.json,
        ])
    }

    /// Nil for what no version of the program wrote.
    init?(_ json: JSON) {
        guard let app = json["app"]?.stringValue, let hosts = json["hosts"]?.arrayValue?.compactMap(\.stringValue)
        else {
            return nil
        }
        self.init(app: app, hosts: hosts)
        self.command = json["command"]?.stringValue
        self.goals = json["goals"]?.objectValue ?? [:]
        self.insistence = json["insistence_seconds"]?.integerValue
        self.isCommandDue = json["command_due"] == true
        self.current = json["current"].flatMap(Renewal.init)
        self.next = json["next"].flatMap(Renewal.init)
    }
}

extension Deployment.Renewal {
    fileprivate var json: JSON {
        [
            "release": .string(self.release), "pin": .string(self.pin.description), "rotation": .string(self.rotation),
        ]
    }

    fileprivate init?(_ json: JSON) {
        guard let release = json["release"]?.stringValue, CertificateDirectory.isRelease(release),
            let pin = json["pin"]?.stringValue.flatMap({ try? Pin(text: $0) }),
            let rotation = json["rotation"]?.stringValue, Rotation.isID(rotation)
        else { return nil }
        self.init(release: release, pin: pin)
        self.rotation = rotation
    }
}
