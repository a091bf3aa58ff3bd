import PinWire
import Testing

@testable import PinledgerClient

@Suite("The judgement of connections by pins")
struct PinPolicyTests {
    private let signer = Signer()

    private func policy(
        _ document: Document?, builtin: [BuiltinPins] = [], afterExpiry: EndPolicy = .platformTrust,
        exceptions: [HostPattern: EndPolicy] = [:], without: EndPolicy = .platformTrust
    ) throws -> PinPolicy {
        let verifier = DocumentVerifier(
            app: try Fixed.app(), issuer: Fixed.issuer, anchors: try Signer.anchors(self.signer))
        let verified = try document.map {
            try verifier.verify(UnverifiedDocument(try self.signer.sign($0)), replacing: nil, at: Fixed.now)
        }
        return PinPolicy(
            document: verified, device: Device(), builtin: builtin,
            ends: EndPolicies(afterExpiry: afterExpiry, exceptions: exceptions, withoutDocument: without), generation: 1
        )
    }

    @Test(
        "Any certificate of the chain may have a pin, and the policy's mode says what becomes of none",
        arguments: [
            (PinMode.enforce, [UInt8(1)], ConnectionVerdict.Result.matched), (.enforce, [9, 8, 2], .matched),
            (.enforce, [9, 8], .refused), (.enforce, [], .refused), (.reportOnly, [9], .mismatched),
            (.reportOnly, [1], .matched), (.off, [9], .unpinned),
        ])
    func modes(_ mode: PinMode, _ chain: [UInt8], _ wanted: ConnectionVerdict.Result) throws {
        let policy = try self.policy(try Fixed.document(mode: mode))
        let verdict = policy.judge(chain.map(Fixed.pin), of: "API.example.com.", at: Fixed.now)
        #expect(verdict.result == wanted)
        #expect(verdict.isAccepted == (wanted != .refused))
        #expect((verdict.match != nil) == (wanted == .matched))
    }

    @Test("A kill switch lets every chain through from the moment on at which it holds")
    func killSwitch() throws {
        let begin = Timestamp(seconds: Fixed.issued)
        let one = Document.KillSwitch(
            scope: "everything", host: nil, engagedAt: begin, expiresAt: begin.adding(seconds: 3600))
        let policy = try self.policy(try Fixed.document(switches: [one]))
        #expect(policy.judge([Fixed.pin(9)], of: "api.example.com", at: Fixed.now).result == .unpinned)
        let later = begin.adding(seconds: 3600)
        #expect(policy.judge([Fixed.pin(9)], of: "api.example.com", at: later).result == .refused)
    }

    @Test(
        "A clock that was set back revives neither a kill switch nor pins that had ended when the document was signed")
    func slowClock() throws {
        let issued = Timestamp(seconds: Fixed.issued)
        let one = Document.KillSwitch(
            scope: "everything", host: nil, engagedAt: issued.adding(seconds: -3600),
            expiresAt: issued.adding(seconds: -60))
        let behind = issued.adding(seconds: -1800)
        let switched = try self.policy(try Fixed.document(switches: [one]))
        #expect(switched.judge([Fixed.pin(9)], of: "api.example.com", at: behind).result == .refused)
        let ended = try self.policy(try Fixed.document(pinsValidUntil: issued.adding(seconds: -60)))
        #expect(ended.judge([Fixed.pin(9)], of: "api.example.com", at: behind).decision?.reason == .pinsExpired)
    }

    @Test(
        "A connection is refused where the host is neither a name nor an address",
        arguments: [
            "https://api.example.com", "api.example.com:443", "api.example.com/v1", "", " api.example.com",
            "bücher.example", "api.example.com\n", ".api.example.com", "api..example.com", "api.example.com..",
            "api.example.com:443:", String(repeating: "a.", count: 200),
        ])
    func noHost(_ text: String) throws {
        for document in [nil, try Fixed.document()] {
            let verdict = try self.policy(document).judge([Fixed.pin(1)], of: text, at: Fixed.now)
            #expect(verdict.result == .refusedHost && !verdict.isAccepted)
        }
    }

    @Test(
        "Names and addresses are hosts", arguments: ["10.0.0.1", "::1", "[2001:db8::1]", "fe80::1%en0", "a_b.c", "x."])
    func hosts(_ text: String) throws {
        #expect(try self.policy(try Fixed.document()).judge([], of: text, at: Fixed.now).result == .unpinned)
    }

    @Test("The app's choices for a pattern hold for every name that the document's pattern covers")
    func coveredNames() throws {
        let pattern = try HostPattern("example.com")
        var document = try Fixed.document(pinsValidUntil: Fixed.now)
        document.hosts[0].pattern = pattern
        document.hosts[0].includesSubdomains = true
        let ended = try self.policy(document, exceptions: [pattern: .block])
        #expect(ended.judge([], of: "a.b.example.com", at: Fixed.now).result == .refusedExpired)
        document.pinsValidUntil = nil
        document.hosts[0].baseline = nil
        let builtin = try self.policy(document, builtin: [BuiltinPins(host: pattern, pins: [Fixed.pin(5)])])
        #expect(builtin.judge([Fixed.pin(5)], of: "a.b.example.com", at: Fixed.now).result == .matched)
        #expect(builtin.judge([Fixed.pin(6)], of: "a.b.example.com", at: Fixed.now).result == .refused)
    }

    @Test("Pins that have ended leave the host to the app's choice for it")
    func ended() throws {
        let document = try Fixed.document(pinsValidUntil: Fixed.now)
        func result(_ policy: PinPolicy) -> ConnectionVerdict.Result {
            policy.judge([Fixed.pin(1)], of: "api.example.com", at: Fixed.now).result
        }
        let exact = try HostPattern("api.example.com")
        let wide = try HostPattern("*.example.com")
        #expect(result(try self.policy(document)) == .unpinned)
        #expect(result(try self.policy(document, afterExpiry: .block)) == .refusedExpired)
        #expect(result(try self.policy(document, exceptions: [exact: .block])) == .refusedExpired)
        #expect(result(try self.policy(document, afterExpiry: .block, exceptions: [wide: .platformTrust])) == .unpinned)
        #expect(
            result(try self.policy(document, exceptions: [wide: .platformTrust, exact: .block])) == .refusedExpired)
    }

    @Test("Pins of the app hold without a document, and where the document says so")
    func builtin() throws {
        let own = BuiltinPins(host: try HostPattern("old.example.com"), pins: [Fixed.pin(5)])
        let wide = BuiltinPins(host: try HostPattern("*.example.com"), mode: .reportOnly, pins: [Fixed.pin(6)])
        for document in [nil, try Fixed.document()] {
            let policy = try self.policy(document, builtin: [wide, own])
            #expect(policy.judge([Fixed.pin(5)], of: "old.example.com", at: Fixed.now).result == .matched)
            #expect(policy.judge([Fixed.pin(6)], of: "old.example.com", at: Fixed.now).result == .refused)
        }
        let policy = try self.policy(nil, builtin: [wide, own])
        #expect(policy.judge([Fixed.pin(9)], of: "new.example.com", at: Fixed.now).result == .mismatched)
        // The document names the host and the app ships no pins for it: that is no reason to lock the app out.
        #expect(
            try self.policy(try Fixed.document()).judge([Fixed.pin(9)], of: "old.example.com", at: Fixed.now).result
                == .unpinned)
    }

    @Test("The app's choice decides for hosts of which neither a document nor a built-in pin is known")
    func nothing() throws {
        #expect(try self.policy(nil).judge([], of: "api.example.com", at: Fixed.now).result == .unpinned)
        let blocked = try self.policy(nil, without: .block).judge([], of: "api.example.com", at: Fixed.now)
        #expect(blocked.result == .refusedWithoutDocument && !blocked.isAccepted && blocked.decision == nil)
        // With one, hosts that it does not know are none of its business.
        let known = try self.policy(try Fixed.document(), without: .block)
        #expect(known.judge([], of: "elsewhere.example.org", at: Fixed.now).result == .unpinned)
    }

    @Test("An explanation names each rule and carries no id")
    func explains() throws {
        let decision = try self.policy(try Fixed.document()).explain("api.example.com", at: Fixed.now)
        #expect(decision?.trace.map(\.rule) == [.host, .killSwitch, .validity, .candidate, .policy])
        #expect(try self.policy(nil).explain("api.example.com", at: Fixed.now) == nil)
    }
}
