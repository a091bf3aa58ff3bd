import PinWire
import Pinning

/// How far the certificates of a ``CertificateDirectory`` are: what is kept there between two runs.
///
/// A value: ``DeploymentRun`` changes it, and writes it down before each step that others see.
struct Deployment: Hashable {
    /// The files that the ACME client writes.
    struct Source: Hashable {
        var chain: String
        var key: String
    }

    /// A certificate with another key than the served one had when it came.
    struct Renewal: Hashable {
        /// The name of its directory.
        var release: String
        var pin: Pin
        /// The rotation to its key; nil as long as none was begun.
        var rotation: String?
    }

    var app: String
    var hosts: [String]
    /// What the shell runs once other files are served; nil for nothing.
    var command: String?
    /// The rotations' goals, in the API's form.
    var goals: [String: JSON] = [:]
    /// How long before the served certificate ends the next one is served whatever its rotation waits for, in seconds; nil for never.
    var insistence: Int64?
    /// Where the last certificate came from: a renewal of which no hook has told is found there.
    var source: Source?
    /// Whether anything was served from the directory.
    var hasServed = false
    /// Whether the command still has to succeed for what is served.
    var isCommandDue = false
    /// The renewal whose rotation is under way.
    var current: Renewal?
    /// The one that comes after it.
    var next: Renewal?
    /// What was served before the current renewal: its key stays until the rotation is over.
    var previous: String?

    init(app: String, hosts: [String]) {
        self.app = app
        self.hosts = hosts
    }

    /// Takes up a certificate with another key than the served one: with the rotation of its key where there is one, in place of one
    /// whose rotation has not begun, else after the rotation that is under way.
    mutating func add(_ release: String, _ pin: Pin) {
        let renewal = Renewal(release: release, pin: pin)
        switch self.current {
        case let current? where current.pin == pin: self.current?.release = release
        case let current? where current.rotation != nil: self.next = renewal
        case nil, _?: (self.current, self.next) = (renewal, nil)
        }
    }

    /// Ends the current renewal, and takes up the next.
    mutating func finish() {
        self.current = self.next
        self.next = nil
        self.previous = nil
    }

    /// The releases that are still needed, besides the served one.
    var releases: Set<String> { Set([self.current?.release, self.next?.release, self.previous].compactMap { $0 }) }

    /// How long clients may take to get a document, in seconds: after that only those are without it that get none.
    var deliverySeconds: Int64 {
        self.goals["sufficient_wait_seconds"]?.integerValue ?? Rotation.Goals().sufficientWait
    }

    // MARK: JSON

    var json: JSON {
        .members([
            "app": .string(self.app), "hosts": .array(self.hosts.map { .string($0) }),
            "command": self.command.map { .string($0) }, "goals": .object(self.goals),
            "insistence_seconds": self.insistence.map { .integer($0) },
            "source": self.source.map { ["chain": .string($0.chain), "key": .string($0.key)] },
            "has_served": .bool(self.hasServed), "command_due": .bool(self.isCommandDue),
            "current": self.current?.json, "next": self.next?.json, "previous": self.previous.map { .string($0) },
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
        if let chain = json["source"]?["chain"]?.stringValue, let key = json["source"]?["key"]?.stringValue {
            self.source = Source(chain: chain, key: key)
        }
        self.hasServed = json["has_served"] == true
        self.isCommandDue = json["command_due"] == true
        self.current = json["current"].flatMap(Renewal.init)
        self.next = json["next"].flatMap(Renewal.init)
        self.previous = json["previous"]?.stringValue.flatMap { CertificateDirectory.isRelease($0) ? $0 : nil }
    }
}

extension Deployment.Renewal {
    fileprivate var json: JSON {
        .members([
            "release": .string(self.release), "pin": .string(self.pin.description),
            "rotation": self.rotation.map { .string($0) },
        ])
    }

    fileprivate init?(_ json: JSON) {
        guard let release = json["release"]?.stringValue, CertificateDirectory.isRelease(release),
            let pin = json["pin"]?.stringValue.flatMap({ try? Pin(text: $0) })
        else { return nil }
        self.init(release: release, pin: pin)
        self.rotation = json["rotation"]?.stringValue.flatMap { Rotation.isID($0) ? $0 : nil }
    }
}
