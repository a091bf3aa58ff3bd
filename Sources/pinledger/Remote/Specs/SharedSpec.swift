import PinWire
import Pinning

/// The declared state of what all apps share: settings of the fleet, who may do what, and webhooks.
///
/// A section or list that a file leaves out says nothing. What is done in an emergency is no part of it: kill switches, suspended
/// principals, paused webhooks, freezes.
struct SharedSpec {
    /// One entry of a list, by what identifies it.
    struct Entry {
        var id: String
        /// The others, in the form of the API.
        var members: [String: JSON]
    }

    struct Principal {
        var name: String
        var kind: String
        /// All roles that it is to have by itself; nil for no word about them.
        var grants: [JSON]?
    }

    /// The file's members.
    static let sections = ["fleet", "access", "webhooks"]

    /// The sections as they are in the file.
    var sections: [String: JSON] = [:]
    var issuer: String?
    /// All guard rails that are lowered to a warning, whatever the app.
    var loweredRails: [String]?
    var roles: [Entry]?
    var principals: [Principal]?
    var identityProviders: [Entry]?
    var signInRules: [Entry]?
    var approvalRules: [Entry]?
    /// By their addresses.
    var webhooks: [Entry]?

    var isEmpty: Bool { self.sections.isEmpty }
    var hasAccess: Bool { self.sections["access"] != nil }

    init() {}

    /// Takes the sections out of a file's members.
    init(_ m: inout JSONMembers) throws(JSONDefect) {
        if let fleet = m.optional("fleet") {
            self.sections["fleet"] = fleet.value
            try fleet.object { (m) throws(JSONDefect) in
                self.issuer = try m.optional("issuer")?.string()
                self.loweredRails = try m.optional("lowered_guard_rails").mapped { (field) throws(JSONDefect) in
                    var rails: [String] = []
                    for rail in try field.elements(atMost: 1000) { rails.append(try rail.string()) }
                    return rails
                }
            }
        }
        if let access = m.optional("access") {
            self.sections["access"] = access.value
            try access.object { (m) throws(JSONDefect) in
                self.roles = try Self.entries(m.optional("roles"), "role")
                self.principals = try Self.principals(m.optional("principals"))
                self.identityProviders = try Self.entries(m.optional("identity_providers"), "provider")
                self.signInRules = try Self.entries(m.optional("sign_in_rules"), "rule")
                self.approvalRules = try Self.entries(m.optional("approval_rules"), "rule")
            }
        }
        if let webhooks = m.optional("webhooks") {
            self.sections["webhooks"] = webhooks.value
            self.webhooks = try Self.entries(webhooks, "url")
        }
    }

    /// Adds the sections of another file.
    ///
    /// - Throws: The name of a section that both have.
    mutating func add(_ other: SharedSpec) -> String? {
        for name in Self.sections where self.sections[name] != nil && other.sections[name] != nil { return name }
        self.sections.merge(other.sections) { mine, _ in mine }
        self.issuer = self.issuer ?? other.issuer
        self.loweredRails = self.loweredRails ?? other.loweredRails
        self.roles = self.roles ?? other.roles
        self.principals = self.principals ?? other.principals
        self.identityProviders = self.identityProviders ?? other.identityProviders
        self.signInRules = self.signInRules ?? other.signInRules
        self.approvalRules = self.approvalRules ?? other.approvalRules
        self.webhooks = self.webhooks ?? other.webhooks
        return nil
    }

    private static let entryLimit = 10_000

    private static func entries(_ field: JSONField?, _ key: String) throws(JSONDefect) -> [Entry]? {
        guard let field else { return nil }
        var entries: [Entry] = []
        var seen: Set<String> = []
        for element in try field.elements(atMost: Self.entryLimit) {
            guard var members = element.value.objectValue else { throw element.defect("must be an object") }
            guard let id = members.removeValue(forKey: key)?.stringValue else {
                throw element.defect("must have a member \(key)")
            }
            guard seen.insert(id).inserted else { throw element.defect("names \(id) a second time") }
            for name in ["reason", "force"] where members[name] != nil {
                throw element.defect("has a member \(name): give it to the command, as --\(name)")
            }
            entries.append(Entry(id: id, members: members))
        }
        return entries
    }

    private static func principals(_ field: JSONField?) throws(JSONDefect) -> [Principal]? {
        guard let field else { return nil }
        var principals: [Principal] = []
        var seen: Set<String> = []
        for element in try field.elements(atMost: Self.entryLimit) {
            let principal = try element.object { (m) throws(JSONDefect) in
                let name = try m.required("name").string()
                let kind = m.optional("kind")
                guard kind == nil || ["person", "service"].contains(kind?.value.stringValue) else {
                    throw kind?.defect("must be person or service") ?? element.defect("has no kind")
                }
                let grants = try m.optional("grants").mapped { (field) throws(JSONDefect) in
                    var grants: [JSON] = []
                    for grant in try field.elements(atMost: 1000) {
                        _ = try grant.string(of: "role")
                        grants.append(grant.value)
                    }
                    return grants
                }
                return Principal(name: name, kind: kind?.value.stringValue ?? "person", grants: grants)
            }
            guard seen.insert(principal.name).inserted else {
                throw element.defect("names \(principal.name) a second time")
            }
            principals.append(principal)
        }
        return principals
    }
}

extension JSONField {
    /// The text of an object's member.
    fileprivate func string(of name: String) throws(JSONDefect) -> String {
        guard let text = self.value.objectValue?[name]?.stringValue else {
            throw self.defect("must have a member \(name)")
        }
        return text
    }
}

extension SharedSpec {
    /// What the server has, as sections of a file.
    ///
    /// - Throws: ``CommandFailure``, where the token may not read all of it, or names do not tell entries apart.
    static func present(_ client: APIClient) async throws -> [String: JSON] {
        let fleet = try await client.get("/v1/fleet")
        let access = try await client.get("/v1/access")
        guard let rules = access["approval_rules"] else {
            throw CommandFailure(
                "the approval rules cannot be read without the permission changes.read on all apps",
                advice: "Have the token's principal granted a role with it.", status: .unauthorized)
        }
        let webhooks = try await client.get("/v1/webhooks")
        func list(_ json: JSON?, _ keep: (JSON) -> Bool = { _ in true }, without names: Set<String> = []) -> JSON {
            .array(
                (json?.arrayValue ?? []).filter(keep).map { entry in
                    .object((entry.objectValue ?? [:]).filter { !names.contains($0.key) })
                })
        }
        // People who only ever signed in hold nothing by themselves.
        let principals = (access["principals"]?.arrayValue ?? []).filter {
            $0.text("kind") == "service" || $0["grants"]?.arrayValue?.isEmpty == false
        }
        let names = principals.map { $0.text("name") }
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw CommandFailure(
                "two principals have the name \(twice)",
                advice: "Rename one with `pinledger access rename ID NAME`, and export again.")
        }
        return [
            "fleet": .members([
                "issuer": fleet["issuer"],
                "lowered_guard_rails": .array(
                    (fleet["lowered_guard_rails"]?.arrayValue ?? []).compactMap(SharedPlan.railCode).sorted()
                        .map { .string($0) }),
            ]),
            "access": [
                "roles": list(access["roles"], { $0["built_in"] != true }, without: ["built_in", "summary"]),
                "principals": .array(
                    principals.map { principal in
                        [
                            "name": .string(principal.text("name")), "kind": .string(principal.text("kind")),
                            "grants": list(principal["grants"], without: ["grant_id"]),
                        ]
                    }),
                "identity_providers": list(access["identity_providers"], without: ["keys"]),
                "sign_in_rules": list(access["sign_in_rules"]),
                "approval_rules": list(rules),
            ],
            "webhooks": list(
                webhooks["webhooks"],
                without: ["webhook_id", "created_at", "paused", "paused_at", "pause_cause", "secret_rotated_at"]),
        ]
    }
}
