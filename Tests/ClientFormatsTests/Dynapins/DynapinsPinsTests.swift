import ClientFormats
import PinWire
import Pinning
import Testing

@Suite struct `The pins for a Dynapins client` {
    private static func pins(_ domain: String, in app: RenderedApp) throws -> DynapinsPins {
        try DynapinsPins(DynapinsRequest(query: [(name: "domain", value: domain)]), in: app.view())
    }

    @Test func `pins for Dynapins are the policy's, the primary first`() throws {
        var app = RenderedApp()
        try app.add("a.b", [(try .imagined("1"), .primary), (try .imagined("2"), .backup)])
        let pins = try Self.pins("A.b", in: app)
        #expect(pins.domain == "A.b")
        #expect(pins.pins == [try .imagined("1"), try .imagined("2")])
    }

    @Test func `pins for Dynapins begin with the served key's, whatever its role`() throws {
        var app = RenderedApp()
        let backup = try Pin.imagined("2")
        try app.add("a.b", [(try .imagined("1"), .primary), (backup, .backup), (try .imagined("3"), .emergency)])
        try app.see(backup, at: "a.b")
        #expect(try Self.pins("a.b", in: app).pins == [backup, try .imagined("1"), try .imagined("3")])
    }

    @Test(arguments: [0, 1])
    func `pins for Dynapins are never fewer than two`(count: Int) throws {
        var app = RenderedApp()
        try app.add("a.b", (0..<count).map { (try .imagined("\($0)"), .primary) })
        #expect(throws: DynapinsError.tooFewPins) { try Self.pins("a.b", in: app) }
    }

    @Test func `pins for Dynapins that are equal count once`() throws {
        let (one, other) = (try Pin.imagined("1"), try Pin.imagined("2"))
        #expect(throws: DynapinsError.tooFewPins) { try DynapinsPins(domain: "a.b", pins: [one, one]) }
        #expect(try DynapinsPins(domain: "a.b", pins: [one, one, other, one]).pins == [one, other])
    }

    /// What would turn pinning off, or down to reporting, on devices that know such a thing.
    enum Switch: CaseIterable { case killSwitch, expired, modeOff, reportOnly }

    @Test(arguments: Switch.allCases)
    func `pins for Dynapins are served where pinning is off, because an error would refuse every connection`(
        off: Switch
    ) throws {
        var app = RenderedApp()
        let mode: PinMode =
            switch off {
            case .modeOff: .off
            case .reportOnly: .reportOnly
            default: .enforce
            }
        let pins: [(Pin, PinRole)] = [(try .imagined("1"), .primary), (try .imagined("2"), .backup)]
        try app.add("a.b", mode: mode, pins.map { (pin: $0.0, role: $0.1) })
        if off == .killSwitch { app.switchOff() }
        if off == .expired { app.pinsValidUntil = RenderedApp.now.adding(seconds: -1) }
        let view = try app.view()
        #expect(view.hosts[0].outcome == (off == .reportOnly ? .reportOnly : .off))
        #expect(try Self.pins("a.b", in: app).pins == pins.map(\.0))
    }

    @Test func `pins for Dynapins are unknown for an unknown host and for one left to the app's own pins`() throws {
        var app = RenderedApp()
        try app.add("builtin.a.b", mode: nil)
        try app.add("a.b", [(try .imagined("1"), .primary), (try .imagined("2"), .backup)])
        for domain in ["builtin.a.b", "other.a.b", "b", "xa.b", "*.a.b"] {
            #expect(throws: DynapinsError.unknownDomain) { try Self.pins(domain, in: app) }
        }
        app.switchOff()
        #expect(throws: DynapinsError.unknownDomain) { try Self.pins("builtin.a.b", in: app) }
    }

    @Test(arguments: [
        ("x.one.b", 1), ("*.one.b", 1), ("own.one.b", 2), ("deep.tree.b", 3), ("a.deep.tree.b", 3), ("*.tree.b", 3),
        ("*.deep.tree.b", 3), ("tree.b", 3),
    ])
    func `a name has its pattern's pins for Dynapins, and a literal wildcard those of the names below it`(
        domain: String, number: Int
    ) throws {
        var app = RenderedApp()
        for (pattern, number) in [("*.one.b", 1), ("own.one.b", 2), ("tree.b", 3)] {
            try app.add(
                pattern, includesSubdomains: number == 3,
                [(try .imagined("\(number)"), .primary), (try .imagined("\(number) backup"), .backup)])
        }
        let pins = try Self.pins(domain, in: app)
        #expect(pins.domain == domain)
        #expect(pins.pins == [try .imagined("\(number)"), try .imagined("\(number) backup")])
    }
}
