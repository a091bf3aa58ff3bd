/// How a candidate policy (at app level: every candidate of the app) reaches devices.
public struct Rollout: Hashable, Sendable {
    /// The rule by which a device is in.
    public enum Method: String, CaseIterable, Sendable, Hashable {
        /// The device's bucket lies below ``Rollout/basisPoints``.
        case percentage
        /// The device's id is on the whitelist; no other device is in.
        case whitelist
        /// The device's country is listed, and its bucket lies below ``Rollout/basisPoints``.
        case geography
    }

    /// The id of a device from which its bucket is drawn.
    public enum Seed: String, CaseIterable, Sendable, Hashable {
        case deviceID = "device_id"
        case userID = "user_id"
        case installID = "install_id"
    }

    /// The algorithm that draws a device's bucket. The raw value is its name in documents.
    public enum Bucketing: String, CaseIterable, Sendable, Hashable {
        /// The first four bytes of a SHA-256, scaled to 10000 buckets.
        case pinroll = "pinroll/v1"
        /// MurmurHash3 (x86, 32 bits) of `group:id`, in 100 buckets, as Unleash draws them: whole percentages only.
        case unleash = "unleash-murmur3"
    }

    /// Share of devices that are in, in basis points: 0 for none, 10000 for every device with one of the ``seed`` ids.
    /// A device with none of them is outside at 10000, too, and gets the candidate only when it is promoted or the
    /// rollout is cleared.
    public var basisPoints: Int
    public var method: Method
    /// The ids to draw from, first known one wins; a device with none of them is not in.
    public var seed: [Seed]
    /// Whether a device keeps its bucket when the rollout is edited. If not, each edit draws a fresh cohort.
    public var isSticky: Bool
    /// Makes this rollout's buckets independent of others': 1 to 128 bytes of UTF-8 without control characters; nil for
    /// the default of its place.
    public var salt: String?
    /// ISO 3166-1 alpha-2 codes, upper case; for ``Method/geography``.
    public var countries: [String]
    /// Keyed hashes (see ``hashedID(_:salt:)``) of ids that are always in.
    public var whitelist: [String]
    /// Keyed hashes of ids that are never in; they win over the whitelist.
    public var exclusions: [String]
    public var bucketing: Bucketing

    public init(
        basisPoints: Int, method: Method = .percentage, seed: [Seed] = [.deviceID], isSticky: Bool = true,
        salt: String? = nil, countries: [String] = [], whitelist: [String] = [], exclusions: [String] = [],
        bucketing: Bucketing = .pinroll
    ) {
        self.basisPoints = basisPoints
        self.method = method
        self.seed = seed
        self.isSticky = isSticky
        self.salt = salt
        self.countries = countries
        self.whitelist = whitelist
        self.exclusions = exclusions
        self.bucketing = bucketing
    }

    /// The form in which an id may stand in a document: 64 lower-case hexadecimal digits of HMAC-SHA-256, keyed with
    /// `pinroll/v1/id` 00 `salt`, over the id's UTF-8, in lower case where it has the shape of a UUID. It keeps ids out
    /// of public text; short ids can still be guessed.
    public static func hashedID(_ id: String, salt: String) -> String {
        Hex.encode(hmacSHA256(key: Self.idKey(salt: salt), UUIDShape.folded(Array(id.utf8))))
    }

    /// The key with which ids are hashed.
    static func idKey(salt: String) -> [UInt8] { Array("pinroll/v1/id\u{0}\(salt)".utf8) }

    /// The form in events and answers.
    public var json: JSON { self.json(isSigned: false) }

    /// The form in documents, which hold printable ASCII: any other salt is `salt_utf8`, its UTF-8 in hexadecimal.
    var documentJSON: JSON { self.json(isSigned: true) }

    private func json(isSigned: Bool) -> JSON {
        let isSpelled = isSigned && self.salt?.isPrintableASCII == false
        return .members([
            "basis_points": .integer(Int64(self.basisPoints)),
            "method": .string(self.method.rawValue),
            "seed": .array(self.seed.map { .string($0.rawValue) }),
            "sticky": .bool(self.isSticky),
            "salt": isSpelled ? nil : self.salt.map { .string($0) },
            "salt_utf8": isSpelled ? self.salt.map { .string(Hex.encode(Array($0.utf8))) } : nil,
            "countries": self.countries.isEmpty ? nil : .array(self.countries.map { .string($0) }),
            "whitelist": self.whitelist.isEmpty ? nil : .array(self.whitelist.map { .string($0) }),
            "exclusions": self.exclusions.isEmpty ? nil : .array(self.exclusions.map { .string($0) }),
            "bucketing": self.bucketing == .pinroll ? nil : .string(self.bucketing.rawValue),
        ])
    }

    /// Reads ``json`` and ``documentJSON``. Only `basis_points` is required.
    public init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var rollout = Rollout(basisPoints: Int(try members.required("basis_points").integer(0...10_000)))
            if let method = members.optional("method") { rollout.method = try method.oneOf(Method.self) }
            if let seed = members.optional("seed") {
                rollout.seed = []
                for element in try seed.elements(atMost: 3) { rollout.seed.append(try element.oneOf(Seed.self)) }
                guard !rollout.seed.isEmpty else { throw seed.defect("must name at least one id") }
                guard Set(rollout.seed).count == rollout.seed.count else { throw seed.defect("names an id twice") }
            }
            if let sticky = members.optional("sticky") { rollout.isSticky = try sticky.bool() }
            if let salt = members.optional("salt") {
                let text = try salt.string()
                guard Self.isSalt(text) else { throw salt.defect(Self.saltDefect) }
                rollout.salt = text
            } else if let salt = members.optional("salt_utf8") {
                // Its length is looked at first: readers of documents use no tables of Unicode.
                guard let bytes = Hex.decode(try salt.string()), bytes.count <= 128,
                    let text = String(validating: bytes, as: UTF8.self),
                    Self.isSalt(text), !text.isPrintableASCII
                else { throw salt.defect("must be the UTF-8 of a salt that is not printable ASCII, in hexadecimal") }
                rollout.salt = text
            }
            if let countries = members.optional("countries") {
                for element in try countries.elements(atMost: 250) {
                    let code = try element.string()
                    guard code.utf8.count == 2, code.utf8.allSatisfy({ (65...90).contains($0) }) else {
                        throw element.defect(
                            "must be a country code of two upper-case letters (ISO 3166-1), such as DE")
                    }
                    rollout.countries.append(code)
                }
            }
            rollout.whitelist = try Self.hashes(members.optional("whitelist"))
            rollout.exclusions = try Self.hashes(members.optional("exclusions"))
            if let bucketing = members.optional("bucketing") { rollout.bucketing = try bucketing.oneOf(Bucketing.self) }
            return rollout
        }
        if self.method == .geography, self.countries.isEmpty {
            throw JSONDefect(
                pointer: field.pointer.appending("countries"),
                message: "must name at least one country when the method is geography"
            )
        }
        if self.bucketing == .unleash, self.basisPoints % 100 != 0 {
            throw JSONDefect(
                pointer: field.pointer.appending("basis_points"),
                message: "must be a whole percentage (a multiple of 100) with unleash-murmur3, which has 100 buckets"
            )
        }
    }

    private static let saltDefect = "must be 1 to 128 bytes of UTF-8 without control characters"

    private static func isSalt(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    private static func hashes(_ field: JSONField?) throws(JSONDefect) -> [String] {
        guard let field else { return [] }
        var hashes: [String] = []
        for element in try field.elements(atMost: 250) {
            let text = try element.string()
            guard text.utf8.count == 64, Hex.decode(text) != nil else {
                throw element.defect("must be the 64 hexadecimal digits of a hashed id")
            }
            hashes.append(text)
        }
        return hashes
    }
}

extension String {
    /// Whether every character is between space and tilde, the range that signed documents may hold.
    public var isPrintableASCII: Bool { self.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
}
