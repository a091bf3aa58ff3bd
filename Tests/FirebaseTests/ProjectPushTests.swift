import ClientFormats
import Firebase
import PinWire
import Pinning
import Testing

/// A project of which a test says what it refuses, as the service does with a status of 400.
private actor Shelf: RemoteConfigStore {
    private(set) var text = Array("{}".utf8)
    private var version = 1
    private(set) var puts = 0
    private(set) var checks = 0
    private let refusal: @Sendable (JSON) -> String?

    init(_ refusal: @escaping @Sendable (JSON) -> String? = { _ in nil }) { self.refusal = refusal }

    var json: JSON { (try? JSON(parsing: self.text)) ?? .null }
    var names: [String] { Self.names(self.json) }

    static func names(_ json: JSON) -> [String] {
        json["conditions"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
    }

    /// An edit as in the console.
    func edit(_ change: @Sendable (String) -> String) {
        self.text = Array(change(String(decoding: self.text, as: UTF8.self)).utf8)
        self.version += 1
    }

    func get() async throws(FirebaseFailure) -> StoredTemplate {
        StoredTemplate(text: self.text, etag: "\(self.version)")
    }

    func validate(_ text: [UInt8], over etag: String) async throws(FirebaseFailure) {
        self.checks += 1
        try self.check(text, etag)
    }

    func put(_ text: [UInt8], over etag: String) async throws(FirebaseFailure) -> StoredTemplate {
        try self.check(text, etag)
        self.puts += 1
        self.text = text
        self.version += 1
        return StoredTemplate(text: text, etag: "\(self.version)")
    }

    private func check(_ text: [UInt8], _ etag: String) throws(FirebaseFailure) {
        guard etag == "\(self.version)" else { throw .overtaken }
        guard let json = try? JSON(parsing: text) else { throw .invalid("no JSON") }
        if let why = self.refusal(json) { throw .invalid(why) }
    }
}

@Suite struct `A push of a project` {
    /// A kill switch where `isKilled`, and so many conditions of rollouts.
    private static func part(_ name: String, rollouts: Int = 0, isKilled: Bool = false) throws -> RemoteConfigPart {
        let prefix = "pinledger com.example.\(name)"
        let kill = RemoteConfigPart.Condition(
            name: "\(prefix) kill switch app", expression: "k", value: "{}", isKill: true)
        let candidates = (0..<rollouts).map {
            RemoteConfigPart.Condition(
                name: "\(prefix) candidate \($0)", expression: "c\($0)", value: "{}", isKill: false, isRollout: true)
        }
        return RemoteConfigPart(
            app: try AppID("com.example.\(name)"), parameter: "pins_\(name)",
            conditions: (isKilled ? [kill] : []) + candidates, otherwise: "[]")
    }

    private static func fewConditions(_ limit: Int) -> @Sendable (JSON) -> String? {
        { Shelf.names($0).count > limit ? "too many conditions" : nil }
    }

    private static func without(_ word: String) -> @Sendable (JSON) -> String? {
        { $0.canonicalText.contains(word) ? "there is \(word) in it" : nil }
    }

    private static let tooMany = PushFailure.service(.invalid("too many conditions"))

    @Test func `a push leaves out rollouts, and no kill switch, where parts are refused together`() async throws {
        let shelf = Shelf(Self.fewConditions(3))
        let parts = [
            try Self.part("shop", rollouts: 2, isKilled: true), try Self.part("till", rollouts: 2),
            try Self.part("menu"),
        ]
        let outcome = try await ProjectPush(store: shelf).run(parts, position: 1)
        #expect(await shelf.names == ["pinledger com.example.shop kill switch app"])
        #expect(outcome.known.refused.isEmpty)
        #expect(outcome.known.withheld == [parts[0].app: Self.tooMany, parts[1].app: Self.tooMany])
        // While nothing changes nothing is asked again; and once there is room, all of it is put.
        let checks = await shelf.checks
        let again = try await ProjectPush(store: shelf).run(parts, position: 2, known: outcome.known)
        #expect(again.known == outcome.known && again.differences.isEmpty)
        #expect(await shelf.checks == checks)
        let fewer = Array(parts.dropFirst())
        let last = try await ProjectPush(store: shelf).run(fewer, position: 3, known: outcome.known)
        #expect(last.known.withheld.isEmpty)
        #expect(await shelf.names.count(where: { $0.hasPrefix("pinledger com.example.till ") }) == 2)
    }

    @Test func `a push leaves out one app's rollouts where these alone are too many`() async throws {
        let shelf = Shelf(Self.fewConditions(3))
        let parts = [try Self.part("shop", rollouts: 3, isKilled: true), try Self.part("till", rollouts: 2)]
        let outcome = try await ProjectPush(store: shelf).run(parts, position: 1)
        #expect(outcome.known.withheld == [parts[0].app: Self.tooMany] && outcome.known.refused.isEmpty)
        #expect(await shelf.names.count == 3)
    }

    /// By the merge, which knows the limit of new projects, before the service is asked.
    @Test func `a push leaves out rollouts where the project itself is nearly full`() async throws {
        let shelf = Shelf()
        let conditions = (0..<1999).map { #"{"name":"c\#($0)","expression":"x"}"# }.joined(separator: ",")
        await shelf.edit { _ in #"{"conditions":[\#(conditions)]}"# }
        let part = try Self.part("shop", rollouts: 1, isKilled: true)
        let outcome = try await ProjectPush(store: shelf).run([part], position: 1)
        #expect(outcome.known.withheld == [part.app: .refused(.tooManyConditions(2001, limit: 2000))])
        #expect(await shelf.names.first == "pinledger com.example.shop kill switch app")
    }

    @Test(arguments: [true, false])
    func `a push tries refused parts again when the template changes, and not before`(isAlone: Bool) async throws {
        let shelf = Shelf(Self.without("flag"))
        await shelf.edit { _ in #"{"parameters":{"flag":{"defaultValue":{"value":"1"}}}}"# }
        let push = ProjectPush(store: shelf)
        let parts = try (isAlone ? ["shop"] : ["shop", "till"]).map { try Self.part($0, isKilled: true) }
        var known = try await push.run(parts, position: 1).known
        #expect(Set(known.refused.keys) == Set(parts.map(\.app)) && known.put.isEmpty)
        let checks = await shelf.checks
        known = try await push.run(parts, position: 2, known: known).known
        #expect(await shelf.checks == checks)
        // The template is mended.
        await shelf.edit { _ in "{}" }
        known = try await push.run(parts, position: 3, known: known).known
        #expect(known.refused.isEmpty)
        #expect(await shelf.names.count == parts.count)
    }

    /// As of a project that may have few conditions, and is full.
    @Test func `a push sends as many parts as are accepted together, kill switches first`() async throws {
        let shelf = Shelf(Self.fewConditions(2))
        await shelf.edit { _ in #"{"conditions":[{"name":"testers","expression":"x"}]}"# }
        let parts = [
            try Self.part("cafe"), try Self.part("shop", isKilled: true), try Self.part("till", isKilled: true),
        ]
        let outcome = try await ProjectPush(store: shelf).run(parts, position: 1)
        #expect(outcome.known.refused == [parts[2].app: Self.tooMany])
        #expect(outcome.known.put == [parts[0].app, parts[1].app])
        #expect(await shelf.names == ["pinledger com.example.shop kill switch app", "testers"])
    }

    @Test func `a push does not ask again part by part for parts that are refused every time`() async throws {
        let shelf = Shelf(Self.without("com.example.bad"))
        let push = ProjectPush(store: shelf)
        var parts = [try Self.part("bad", isKilled: true)] + (try (1...5).map { try Self.part("good\($0)") })
        var known = try await push.run(parts, position: 1).known
        let checks = await shelf.checks
        parts[3] = try Self.part("good3", isKilled: true)
        known = try await push.run(parts, position: 2, known: known).known
        #expect(await shelf.checks == checks + 1)
        #expect(known.refused.keys.sorted() == [parts[0].app])
        #expect(await shelf.names == ["pinledger com.example.good3 kill switch app"])
        parts.removeFirst()
        known = try await push.run(parts, position: 3, known: known).known
        #expect(known.refused.isEmpty)
    }

    @Test func `a push leaves out the app whose parameter was written at a later position, and no other`() async throws
    {
        let shelf = Shelf()
        let push = ProjectPush(store: shelf)
        var parts = [try Self.part("shop"), try Self.part("till")]
        _ = try await push.run(parts, position: 7)
        // In the description of the first parameter.
        await shelf.edit { $0.replacing(" position 7 ", with: " position 9000 ", maxReplacements: 1) }
        parts = [try Self.part("shop", isKilled: true), try Self.part("till", isKilled: true)]
        let outcome = try await push.run(parts, position: 8)
        #expect(outcome.known.refused.count == 1 && outcome.known.put.count == 1)
        #expect(await shelf.names.count == 1)
    }

    @Test func `a push leaves out only the app that is refused`() async throws {
        let shelf = Shelf(Self.without("com.example.bad"))
        let parts = [try Self.part("bad", isKilled: true), try Self.part("good", isKilled: true)]
        let outcome = try await ProjectPush(store: shelf).run(parts, position: 1)
        #expect(outcome.known.refused == [parts[0].app: .service(.invalid("there is com.example.bad in it"))])
        #expect(outcome.known.put == [parts[1].app])
        #expect(await shelf.names == ["pinledger com.example.good kill switch app"])
    }

    /// An app of the same parameter, of which there was no template for a while.
    @Test func `a push removes the entries of an app that was spared and then leaves the project`() async throws {
        let shelf = Shelf()
        let push = ProjectPush(store: shelf)
        let parts = try [("shop", "1:1:ios:aa"), ("till", "1:1:ios:bb")].map { name, id in
            RemoteConfigPart(
                app: try AppID("com.example.\(name)"), parameter: "pins",
                conditions: try Self.part(name, isKilled: true).conditions, otherwise: nil,
                firebaseApp: try FirebaseAppID(id))
        }
        let both = try await push.run(parts, position: 1)
        let rest = [parts[0]]
        let spared = try await push.run(rest, position: 2, sparing: [parts[1].app], known: both.known)
        #expect(await shelf.names.count == 2 && spared.differences.isEmpty)
        _ = try await push.run(rest, position: 3, known: spared.known)
        #expect(await shelf.names == ["pinledger com.example.shop kill switch app"])
    }

    @Test func `a push is refused by a project ahead of a restored ledger, until its position is deleted`()
        async throws
    {
        let shelf = Shelf()
        let push = ProjectPush(store: shelf)
        _ = try await push.run([try Self.part("shop")], position: 20)
        let killed = [try Self.part("shop", isKilled: true)]
        let refusal = PushFailure.refused(.newer(parameter: "pins_shop", position: 20, here: 8))
        await #expect(throws: refusal) { try await push.run(killed, position: 8) }
        #expect(refusal.advice?.contains(#"delete "position 20""#) == true)
        await shelf.edit { $0.replacing(" position 20 ", with: " ") }
        _ = try await push.run(killed, position: 8)
        #expect(await shelf.names.count == 1)
    }
}

@Suite struct `What is known of pushes` {
    @Test func `a push status is in step with the document that was pushed, and no other`() throws {
        let app = try AppID("com.example.shop")
        let status = PushStatus(projects: ["shop-prod"])
        let now = Timestamp(seconds: 1_769_860_800)
        status.succeed(
            app, in: "shop-prod", .init(at: now, position: 7, documentVersion: 3),
            template: .init(version: "5", foreignConditions: ["testers"]))
        #expect(status.entry(of: app)?.isInStep(documentVersion: 3) == true)
        // The ledger has moved on, and nothing was pushed since.
        #expect(status.entry(of: app)?.isInStep(documentVersion: 4) == false)
        status.succeed(app, in: "shop-prod", .init(at: now, position: 9, documentVersion: 4))
        #expect(status.entry(of: app)?.isInStep(documentVersion: 4) == true)
        #expect(status.entry(of: app)?.template.foreignConditions == ["testers"])
        status.fail(app, in: "shop-prod", .init(at: now, detail: "halted", advice: nil))
        #expect(status.entry(of: app)?.isInStep(documentVersion: 4) == false)
    }
}

@Suite struct `What a stranger says` {
    @Test func `a foreign text is shown in 300 characters of ASCII, however many look like one`() {
        let text = "e" + String(repeating: "\u{301}", count: 100_000)
        #expect(FirebaseHTTP.printable(text) == "e" + String(repeating: "?", count: 299))
        #expect(FirebaseHTTP.printable("a\u{1B}[31m") == "a?[31m")
    }
}
