import PinWire

/// A mobile utility server's data about one app, in either of two forms.
///
/// - Answers of its administrative interface: an object with `app` (of `GET /admin/apps/{name}`), and `versions` (of
///   `GET …/versions`) and `texts` (of `GET /admin/texts`) where there are any; or what `app` holds by itself.
/// - Rows of its tables: an object with an array for each table, as `json_agg` makes them.
struct WultraRecords {
    struct Domain {
        var name: JSONField
        /// Whether clients of 2.x are to look at its pins.
        var isRequired: Bool
        /// Each with `pem`, and where they are given `fingerprint`, `expires` and `depth`.
        var certificates: [JSONField]
    }

    /// The parts of an object that are ignored.
    struct Remark {
        var pointer: JSONPointer
        var message: String
        var advice: String
    }

    var name: JSONField
    var displayName: JSONField?
    /// The app's key as ANSI X9.63 has it uncompressed, in base64.
    var publicKey: JSONField?
    /// Its private half, in base64.
    var privateKey: JSONField?
    var domains: [Domain] = []
    /// Version rules and texts with the names that ``ClientSettings`` has for their members.
    var versionRules: [Renamed] = []
    var texts: [Renamed] = []
    var remarks: [Remark] = []

    /// An object with other names for its members.
    struct Renamed {
        var json: JSON
        var pointer: JSONPointer
        /// The name in the file by the name here.
        var names: [String: String]
    }

    /// Rows of one table, or elements of one list: no more than a file of 1 MiB can have.
    private static let rowLimit = 10_000

    private static let tables = [
        "mus_mobile_app", "mus_mobile_domain", "mus_certificate", "mus_mobile_app_version", "mus_localized_text",
    ]
    private static let answers = ["app", "versions", "texts"]
    private static let ruleNames = [
        "id": "id", "platform": "platform", "major_os_version": "majorOsVersion",
        "suggested_version": "suggestedVersion", "required_version": "requiredVersion", "message_key": "messageKey",
    ]
    private static let textNames = ["message_key": "messageKey", "language": "language", "text": "text"]

    /// Reads either form.
    ///
    /// - Parameter id: The app that is meant, where rows of several are there.
    init(_ json: JSON, for id: String) throws(JSONDefect) {
        let whole = JSONField(json)
        let names = try whole.memberNames()
        if names.contains(where: { $0.hasPrefix("mus_") }) {
            try self.init(tables: whole, for: id)
            self.passOver(names, but: Self.tables)
        } else if names.contains("app") {
            try self.init(app: try whole.present("app"))
            try self.takeLists(of: whole)
            self.passOver(names, but: Self.answers)
        } else {
            try self.init(app: whole)
            try self.takeLists(of: JSONField([:]))
        }
    }

    private mutating func passOver(_ names: [String], but known: [String]) {
        for name in names.sorted() where !known.contains(name) {
            self.remarks.append(
                Remark(
                    pointer: JSONPointer([name]), message: "is ignored",
                    advice: "Known are \(known.joined(separator: ", ")); create API tokens in place of accounts."))
        }
    }

    // MARK: Answers

    private init(app: JSONField) throws(JSONDefect) {
        self.name = try app.present("name")
        self.displayName = try app.member("displayName")
        self.publicKey = try app.member("publicKey")
        for domain in try app.member("domains")?.elements(atMost: Self.rowLimit) ?? [] {
            self.domains.append(
                Domain(
                    name: try domain.present("name"), isRequired: true,
                    certificates: try domain.member("certificates")?.elements(atMost: Self.rowLimit) ?? []))
        }
    }

    private mutating func takeLists(of whole: JSONField) throws(JSONDefect) {
        self.versionRules = try self.list("versions", "applicationVersions", of: whole, Self.ruleNames)
        self.texts = try self.list("texts", "texts", of: whole, Self.textNames)
    }

    /// A list as it is answered, an object with one member, or by itself.
    private mutating func list(
        _ name: String, _ inner: String, of whole: JSONField, _ names: [String: String]
    ) throws(JSONDefect) -> [Renamed] {
        guard let answer = try whole.member(name) else {
            self.remarks.append(
                Remark(
                    pointer: JSONPointer([name]), message: "is missing, so the app gets none",
                    advice: "Give the answer of the mobile utility server, if there are any."))
            return []
        }
        let list = if case .array = answer.value { answer } else { try answer.present(inner) }
        return try Self.renamed(try list.elements(atMost: Self.rowLimit), names)
    }

    private static func renamed(
        _ rows: [JSONField], _ names: [String: String]
    ) throws(JSONDefect) -> [Renamed] {
        var renamed: [Renamed] = []
        for row in rows {
            var members: [String: JSON] = [:]
            for (name, given) in names { members[name] = try row.member(given)?.value }
            renamed.append(Renamed(json: .object(members), pointer: row.pointer, names: names))
        }
        return renamed
    }

    // MARK: Tables

    private init(tables whole: JSONField, for id: String) throws(JSONDefect) {
        let apps = try whole.present("mus_mobile_app").elements(atMost: Self.rowLimit)
        let named = apps.filter { $0.value["name"] == .string(id) }
        guard let app = named.first ?? (apps.count == 1 ? apps[0] : nil) else {
            let names = apps.compactMap { $0.value["name"]?.stringValue?.printable }.prefix(5).joined(separator: ", ")
            throw JSONDefect(
                pointer: JSONPointer(["mus_mobile_app"]),
                message: apps.isEmpty ? "has no app" : "has no app \(id), and \(apps.count) others: \(names)")
        }
        self.name = try app.present("name")
        self.displayName = try app.member("display_name")
        self.publicKey = try app.member("sign_public_key")
        self.privateKey = try app.member("sign_private_key")
        let appID = try app.present("id").value
        let certificates = Dictionary(grouping: try Self.rows("mus_certificate", of: whole)) {
            $0.value["mobile_domain_id"] ?? .null
        }
        var seen: Set<JSON> = []
        for domain in try Self.rows("mus_mobile_domain", of: whole) where domain.value["app_id"] == appID {
            let id = try domain.present("id")
            // Else each of them would have all the certificates of the others.
            guard seen.insert(id.value).inserted else { throw id.defect("is also another domain's id") }
            self.domains.append(
                Domain(
                    name: try domain.present("domain"),
                    isRequired: try domain.member("ssl_pinning_required")?.bool() ?? true,
                    certificates: certificates[id.value] ?? []))
        }
        func sameNames(_ names: [String: String]) -> [String: String] {
            Dictionary(uniqueKeysWithValues: names.keys.map { ($0, $0) })
        }
        let rules = try Self.rows("mus_mobile_app_version", of: whole).filter { $0.value["app_id"] == appID }
        self.versionRules = try Self.renamed(rules, sameNames(Self.ruleNames))
        self.texts = try Self.renamed(try Self.rows("mus_localized_text", of: whole), sameNames(Self.textNames))
        for other in apps where other.pointer != app.pointer {
            self.remarks.append(
                Remark(
                    pointer: other.pointer, message: "is another app, and is ignored",
                    advice: "Import the same file once for each app."))
        }
    }

    /// The rows of a table. `json_agg` makes null of an empty one.
    private static func rows(_ table: String, of whole: JSONField) throws(JSONDefect) -> [JSONField] {
        guard try whole.memberNames().contains(table) else {
            throw JSONDefect(pointer: JSONPointer([table]), message: "is missing")
        }
        let rows = try whole.member(table)?.elements(atMost: Self.rowLimit) ?? []
        for row in rows { _ = try row.memberNames() }
        return rows
    }
}

extension JSONField {
    /// The names of an object's members.
    fileprivate func memberNames() throws(JSONDefect) -> [String] {
        guard case .object(let members) = self.value else {
            throw self.defect("must be an object, and is \(self.value.kind)")
        }
        return Array(members.keys)
    }

    /// A member of an object; nil where it is missing or null.
    func member(_ name: String) throws(JSONDefect) -> JSONField? {
        guard try self.memberNames().contains(name), let value = self.value[name], value != .null else { return nil }
        return JSONField(value, at: self.pointer.appending(name))
    }

    /// A member of an object that is there and not null.
    fileprivate func present(_ name: String) throws(JSONDefect) -> JSONField {
        guard let member = try self.member(name) else {
            throw JSONDefect(pointer: self.pointer.appending(name), message: "is required")
        }
        return member
    }
}
