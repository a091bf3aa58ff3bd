import PinWire
import Testing

@testable import Pinning

/// Facts of the certificate of an imagined key.
func expiring(
    _ number: Int, from start: Int64 = -30, to end: Int64, subject: String = "CN=api.example.com",
    isSelfSigned: Bool = false, weaknesses: [String] = []
) -> CertificateFacts {
    let key = KeyFacts(
        pin: pin(number), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: sha256([1]) + sha256([2]),
        rawKeySHA256: sha256([3]),
        weaknesses: weaknesses
    )
    return CertificateFacts(
        key: key, sha256: sha256([UInt8(truncatingIfNeeded: number)]), sha1: Array(sha256([5]).prefix(20)),
        subject: subject,
        issuer: "CN=Authority", serial: "1f", notBefore: noon.adding(seconds: start * day),
        notAfter: noon.adding(seconds: end * day), isSelfSigned: isSelfSigned
    )
}

/// A probe's view of `api`, just taken.
func seeing(
    _ chains: [CertificateFacts]..., seen age: Int64 = 60, horizons: Horizons = .standard
) -> ExternalFacts {
    let time = noon.adding(seconds: -age)
    let facts = EndpointFacts(
        chains: chains.enumerated().map { place, chain in
            ObservedChain(
                pins: chain.map(\.key.pin), certificates: chain, address: "192.0.2.\(place + 1)", vantage: "here",
                firstSeen: time, lastSeen: time, isCurrent: true)
        }, lastSuccess: chains.isEmpty ? nil : time, lastAttempt: time)
    return ExternalFacts(horizons: horizons, endpoint: { $0.host == api ? facts : nil })
}

func ledger(after commands: [AppCommand]) throws -> LedgerState {
    var state = LedgerState()
    if let app = try given(commands) { state.apps.insert(app) }
    return state
}

func looking(_ facts: ExternalFacts = unseen, at now: Timestamp = noon) -> DecisionContext {
    DecisionContext(now: now, reason: nil, isForced: false, facts: facts) { $0 == "com" }
}

@Suite struct `Horizons of announcements` {
    @Test(
        arguments: [
            ("30,14,7,1", [30, 14, 7, 1]), ("1, 7,30", [30, 7, 1]), ("5", [5]), ("7,7", [7]), ("730", [730]),
        ] as [(String, [Int64])])
    func `horizons of announcements are read in any order`(text: String, days: [Int64]) throws {
        #expect(try Horizons(text).days == days)
    }

    @Test(arguments: ["", ",", "0", "-1", "1.5", "731", "seven", "1,,2", "1,2,3,4,5,6,7,8,9,10,11", "٣"])
    func `malformed horizons of announcements are refused`(text: String) {
        #expect(throws: Horizons.Malformed.self) { try Horizons(text) }
    }

    @Test(
        arguments: [
            (nil, [30 * day, 14 * day, 7 * day, day]), (365 * day, [30 * day, 14 * day, 7 * day, day]),
            (60 * day, [30 * day, 14 * day, 7 * day, day]), (45 * day, [45 * day / 2, 14 * day, 7 * day, day]),
            (28 * day, [14 * day, 7 * day, day]), (6 * day, [3 * day, day]), (day, [day / 2]), (0, [0]), (-5, [0]),
        ] as [(Int64?, [Int64])])
    func `horizons of short-lived certificates begin at half of their life`(life: Int64?, leads: [Int64]) {
        #expect(Horizons.standard.leads(life: life) == leads)
    }

    @Test(
        arguments: [
            (8, nil, false), (7, nil, true), (7, 20, false), (5, 20, true), (-1, 20, true), (1, 6, true), (2, 6, false),
        ]
            as [(Int64, Int64?, Bool)])
    func `horizons become urgent in the last week, or the last quarter of a short life`(
        left: Int64, life: Int64?, isUrgent: Bool
    ) {
        #expect(
            Horizons.isUrgent(noon.adding(seconds: left * day), life: life.map { $0 * day }, at: noon) == isUrgent)
    }
}

@Suite struct `A calendar` {
    private static let shown = AppCommand.addHost(
        api, includesSubdomains: false, mode: .enforce,
        pins: [
            .init(pin: pin(1), role: .primary, evidence: .certificate(expiring(1, to: 20))),
            .init(pin: pin(2), role: .backup, evidence: .certificate(expiring(2, to: 300))),
        ])

    @Test func `a calendar knows when the newest certificate of each key in use expires`() throws {
        let renewed = AppCommand.describeKeys([.certificate(expiring(1, to: 90))])
        let calendar = try #require(try ledger(after: [Self.shown, renewed]).calendar(of: shop, in: looking()))
        #expect(calendar.entries.map(\.kind) == [.certificateExpires, .certificateExpires])
        #expect(calendar.entries.map(\.date) == [90, 300].map { noon.adding(seconds: $0 * day) })
        #expect(calendar.entries.map(\.pin) == [pin(1), pin(2)])
        #expect(!calendar.isTruncated)
    }

    @Test func `a calendar leaves out keys that are retired and hosts that are off`() throws {
        let retired = try ledger(after: [
            Self.shown, .addPin(api, .baseline, new(3, .backup)), .retirePin(api, .baseline, pin(2)),
        ])
        #expect(retired.calendar(of: shop, in: looking())?.entries.map(\.pin) == [pin(1)])
        let off = try ledger(after: [Self.shown, .setMode(api, .baseline, .off)])
        #expect(off.calendar(of: shop, in: looking())?.entries == [])
    }

    @Test func `a calendar prefers the served certificate to the uploaded one, and the first of several addresses`()
        throws
    {
        let facts = seeing(
            [expiring(1, to: 50), expiring(8, to: 400), expiring(9, to: 10, isSelfSigned: true)],
            [expiring(1, to: 40)])
        let calendar = try #require(try ledger(after: [Self.shown]).calendar(of: shop, in: looking(facts)))
        #expect(
            calendar.entries.map(\.kind) == [.servedCertificateExpires, .certificateExpires, .servedCertificateExpires])
        #expect(calendar.entries.map(\.date) == [40, 300, 400].map { noon.adding(seconds: $0 * day) })
        #expect(calendar.entries.first?.role == .primary)
    }

    @Test func `a calendar keeps an entry's name when its date moves, and gives no two the same`() throws {
        let before = try #require(try ledger(after: [Self.shown]).calendar(of: shop, in: looking()))
        let renewed = AppCommand.describeKeys([.certificate(expiring(1, to: 90))])
        let after = try #require(try ledger(after: [Self.shown, renewed]).calendar(of: shop, in: looking()))
        #expect(before.entries.map(\.uid) == after.entries.map(\.uid))
        #expect(Set(before.entries.map(\.uid)).count == 2)
    }

    @Test func `a calendar has the ends of pins, of kill switches and of waiting`() throws {
        let hour = noon.adding(seconds: 3600)
        let state = try ledger(after: [
            Self.shown, .setPinsValidUntil(noon.adding(seconds: 30 * day)), .engageKillSwitch(api, expiresAt: hour),
            .engageKillSwitch(nil, expiresAt: hour),
            .engageVersionKillSwitch(range("3.1.0"), expiresAt: hour),
            .engageVersionKillSwitch(range(nil, "2.9"), expiresAt: hour),
            .startRotation(
                .init(
                    id: "r", kind: .planned, hosts: [api], next: new(3, .backup), compromised: nil,
                    goals: Rotation.Goals())
            ),
        ])
        let entries = try #require(state.calendar(of: shop, in: looking())).entries
        let kinds = Dictionary(grouping: entries, by: \.kind).mapValues(\.count)
        #expect(
            kinds == [.certificateExpires: 2, .pinsValidUntil: 1, .killSwitchEnds: 4, .rotationDue: 1])
        #expect(Set(entries.map(\.uid)).count == entries.count)
        #expect(entries.first { $0.kind == .rotationDue }?.date == noon.adding(seconds: 90_000))
        #expect(entries.first { $0.kind == .pinsValidUntil }?.leads == [14 * day, 7 * day, day])
    }

    @Test func `a calendar announces the end of pins a day before at least`() throws {
        let state = try ledger(after: [Self.shown, .setPinsValidUntil(noon.adding(seconds: 30 * day))])
        let facts = ExternalFacts(horizons: try Horizons("30"))
        let entries = try #require(state.calendar(of: shop, in: looking(facts))).entries
        #expect(entries.first { $0.kind == .pinsValidUntil }?.leads == [day])
    }

    @Test func `a calendar of an unknown app is empty`() throws {
        #expect(try ledger(after: [Self.shown]).calendar(of: appID("com.example.other"), in: looking()) == nil)
    }
}

@Suite struct `A calendar feed` {
    @Test(arguments: [
        ("plain", "plain"), ("a,b;c\\d", "a\\,b\\;c\\\\d"), ("two\nlines", "two\\nlines"),
        ("\u{1B}[31mred", "?[31mred"),
        ("\r\t\u{7F}\u{9B}", "????"), ("\u{202E}evil\u{2028}", "?evil?"), ("Müller 🔑", "Müller 🔑"),
    ])
    func `a calendar feed escapes foreign text`(text: String, escaped: String) {
        #expect(CalendarFeed.escaped(text) == escaped)
    }

    @Test(
        arguments: [
            (0, "PT0S"), (day, "-P1D"), (30 * day, "-P30D"), (3600, "-PT1H0M"), (22 * day + 12 * 3600, "-P22DT12H0M"),
            (90, "-PT0H1M"), (59, "PT0S"),
        ] as [(Int64, String)])
    func `a calendar feed writes durations`(lead: Int64, text: String) {
        #expect(CalendarFeed.duration(before: lead) == text)
    }

    @Test func `a calendar feed writes times in whole seconds of UTC`() {
        #expect(CalendarFeed.dateTime(Timestamp(microseconds: 1_769_860_800_250_000)) == "20260131T120000Z")
    }

    @Test(arguments: ["a", "é", "鍵", "🔑"])
    func `a calendar feed folds lines without splitting characters`(character: String) throws {
        for length in 60...80 {
            let subject = "CN=\(String(repeating: character, count: length))"
            let state = try ledger(after: [
                .addHost(
                    api, includesSubdomains: false, mode: .enforce,
                    pins: [
                        .init(
                            pin: pin(1), role: .primary,
                            evidence: .certificate(expiring(1, to: 20, subject: subject))),
                        new(2, .backup),
                    ])
            ])
            let calendar = try #require(state.calendar(of: shop, in: looking()))
            let bytes = CalendarFeed(calendar, at: noon).bytes
            let text = try #require(String(validating: bytes, as: UTF8.self))
            let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.last?.isEmpty == true)
            for line in lines.dropLast() {
                #expect(line.last == "\r")
                #expect(String(String.UnicodeScalarView(line)).utf8.count <= 76)
            }
            let unfolded = text.replacing("\r\n ", with: "")
            #expect(unfolded.contains(subject))
        }
    }

    @Test func `a calendar feed without an entry still has a component`() throws {
        let calendar = try #require(try ledger(after: []).calendar(of: shop, in: looking()))
        let text = String(decoding: CalendarFeed(calendar, at: noon).bytes, as: UTF8.self)
        #expect(text.contains("BEGIN:VTIMEZONE\r\n"))
        #expect(!text.contains("METHOD"))
    }
}
