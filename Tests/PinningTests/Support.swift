import PinWire
import Pinning
import Testing

// Test data is known to be well-formed; where it is not, the test cannot go on.

func host(_ text: String) -> HostPattern {
    do { return try HostPattern(text) } catch { fatalError("\(text) \(error)") }
}

func appID(_ text: String) -> AppID {
    do { return try AppID(text) } catch { fatalError("\(text) \(error)") }
}

func version(_ text: String) -> AppVersion {
    do { return try AppVersion(text) } catch { fatalError("\(text) \(error)") }
}

func reason(_ text: String) -> Reason {
    do { return try Reason(text) } catch { fatalError("\(text) \(error)") }
}

func range(
    _ minimum: String? = nil, _ maximum: String? = nil, except excluded: String..., from build: Int64? = nil
) -> VersionRange {
    let gate = VersionGate(
        minimum: minimum.map(version), maximum: maximum.map(version), excluded: excluded.map(version),
        minimumBuild: build)
    guard let range = VersionRange(gate) else { fatalError("\(gate) has no bound") }
    return range
}

/// The pin of an imagined key.
func pin(_ number: Int) -> Pin {
    guard let pin = Pin(bytes: sha256(Array("key \(number)".utf8))) else { fatalError("a digest has 32 bytes") }
    return pin
}

func pin(text: String) -> Pin {
    do { return try Pin(text: text) } catch { fatalError("\(text) \(error)") }
}

/// A pin to be published at once, unless said otherwise.
func new(_ number: Int, _ role: PinRole = .primary, isActive: Bool = true, note: String? = nil) -> AppCommand.NewPin {
    AppCommand.NewPin(pin: pin(number), role: role, isActive: isActive, note: note)
}

func endpoints(_ texts: String...) -> [Endpoint] {
    texts.map { text in
        do { return try Endpoint(text) } catch { fatalError("\(text) \(error)") }
    }
}

let shop = appID("com.example.shop")
let api = host("api.example.com")
let cdn = host("*.cdn.example.com")

/// The instant of every decision, unless a test says otherwise.
let noon = Timestamp(seconds: 1_769_860_800)

/// What decisions are made in: every public suffix list knows these three.
func context(_ why: String? = nil, isForced: Bool = false, at now: Timestamp = noon) -> DecisionContext {
    DecisionContext(now: now, reason: why.map(reason), isForced: isForced) {
        ["com", "co.uk", "github.io"].contains($0)
    }
}

extension App {
    /// The events that commands cause, judged by no guard rail but those that refuse with a type of their own.
    static func decide(
        _ commands: [AppCommand], _ app: App?, id: AppID, in context: DecisionContext
    ) throws(Refusal) -> [AppEvent] {
        var state = LedgerState()
        if let app { state.apps.insert(app) }
        var context = context
        context.rails = []
        return try state.decide(.app(id, commands), in: context).events.compactMap { event in
            if case .app(let event) = event { event } else { nil }
        }
    }
}

/// The state of an app after changes that nobody objected to.
func given(_ commands: [AppCommand], isCreated: Bool = true) throws -> App? {
    var app: App?
    if isCreated { app = App(first: .appCreated(displayName: "Shop"), id: shop, at: noon) }
    for command in commands {
        let events = try App.decide([command], app, id: shop, in: context("given", isForced: true))
        for event in events {
            if app == nil { app = App(first: event, id: shop, at: noon) } else { app?.evolve(event, at: noon) }
        }
    }
    return app
}

/// One line of a table: what was done before, what is asked for now, and what comes of it.
struct Case: CustomTestStringConvertible, Sendable {
    enum Outcome: Sendable {
        case events([AppEvent])
        case refusal(Refusal)
    }

    var testDescription: String
    var given: [AppCommand]
    var commands: [AppCommand]
    var why: String?
    var isForced: Bool
    var outcome: Outcome
    var isCreated: Bool

    /// What is recorded; an empty list where all is as wanted.
    init(
        _ description: String, given: [AppCommand] = [], when commands: AppCommand..., why: String? = nil,
        isForced: Bool = false, isCreated: Bool = true, then events: [AppEvent]
    ) {
        self.testDescription = description
        self.given = given
        self.commands = commands
        self.why = why
        self.isForced = isForced
        self.isCreated = isCreated
        self.outcome = .events(events)
    }

    /// Why it is refused.
    init(
        _ description: String, given: [AppCommand] = [], when commands: AppCommand..., why: String? = nil,
        isForced: Bool = false, isCreated: Bool = true, refused refusal: Refusal
    ) {
        self.testDescription = description
        self.given = given
        self.commands = commands
        self.why = why
        self.isForced = isForced
        self.isCreated = isCreated
        self.outcome = .refusal(refusal)
    }

    /// What is decided, or refused.
    func decide() throws -> Result<[AppEvent], Refusal> {
        let app = try state(before: self)
        do {
            return .success(
                try App.decide(self.commands, app, id: shop, in: context(self.why, isForced: self.isForced)))
        } catch {
            return .failure(error)
        }
    }

    func check() throws {
        switch (self.outcome, try self.decide()) {
        case (.events(let expected), .success(let events)): #expect(events == expected)
        case (.refusal(let expected), .failure(let refusal)): #expect(refusal == expected)
        case (.events, .failure(let refusal)): Issue.record("refused: \(refusal)")
        case (.refusal, .success(let events)): Issue.record("not refused: \(events)")
        }
    }
}

private func state(before line: Case) throws -> App? { try given(line.given, isCreated: line.isCreated) }
