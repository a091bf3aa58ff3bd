/// The app versions that a candidate policy may reach; every other device gets the baseline.
public struct VersionGate: Hashable, Sendable {
    /// The lowest version let in.
    public var minimum: AppVersion?
    /// The highest version let in.
    public var maximum: AppVersion?
    /// Versions kept out although they lie between the two.
    public var excluded: [AppVersion]
    /// The lowest build number (Android's versionCode, Apple's CFBundleVersion as an integer) let in.
    public var minimumBuild: Int64?

    public init(
        minimum: AppVersion? = nil, maximum: AppVersion? = nil, excluded: [AppVersion] = [], minimumBuild: Int64? = nil
    ) {
        self.minimum = minimum
        self.maximum = maximum
        self.excluded = excluded
        self.minimumBuild = minimumBuild
    }

    /// Whether the gate lets everything in.
    public var isOpen: Bool {
        self.minimum == nil && self.maximum == nil && self.excluded.isEmpty && self.minimumBuild == nil
    }

    public var json: JSON {
        .members([
            "minimum": self.minimum.map { .string($0.text) },
            "maximum": self.maximum.map { .string($0.text) },
            "excluded": self.excluded.isEmpty ? nil : .array(self.excluded.map { .string($0.text) }),
            "minimum_build": self.minimumBuild.map { .integer($0) },
        ])
    }

    /// Reads ``json``; a minimum above the maximum is a defect.
    public init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var gate = VersionGate()
            gate.minimum = try members.optional("minimum")?.parse(AppVersion.init)
            gate.maximum = try members.optional("maximum")?.parse(AppVersion.init)
            if let excluded = members.optional("excluded") {
                for element in try excluded.elements(atMost: 100) {
                    gate.excluded.append(try element.parse(AppVersion.init))
                }
            }
            gate.minimumBuild = try members.optional("minimum_build")?.integer(0...JSON.largestInteger)
            return gate
        }
        if let minimum = self.minimum, let maximum = self.maximum, maximum < minimum {
            throw field.defect(
                "the minimum \(minimum) is above the maximum \(maximum), so that no version would be let in")
        }
    }
}
