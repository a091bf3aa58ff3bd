import PinWire
import Pinning
import Testing

/// What is said of kinds of clients, against what these do.
@Suite struct `A limit of a kind of client` {
    @Test(arguments: clientCases)
    func `every limit of a kind of client has a case that meets it, and its client behaves so`(line: ClientCase) throws
    {
        let findings = try line.app.findings(line.kind, line.settings, suffixes: line.suffixes)
        let severities = findings.filter { $0.limit == line.limit }.map(\.severity)
        #expect(severities.contains(line.severity), "\(findings.map(\.limit.rawValue))")

        let double = ClientDouble(kind: line.kind, settings: line.settings, suffixes: line.suffixes)
        #expect(try double.deed(line.app, line.connection) == line.deed)
        #expect(try line.app.stated(line.connection) != line.deed)
    }

    @Test(arguments: harmlessCases) func `a limit never counts as a lock-out where the client still connects`(
        line: HarmlessCase
    ) throws {
        let findings = try line.app.findings(line.kind, line.settings)
        #expect(findings.contains { $0.limit == line.limit && $0.severity == .differs }, "\(findings)")
        #expect(findings.allSatisfy { $0.severity < .breaks }, "\(findings)")
        #expect(try ClientDouble(kind: line.kind, settings: line.settings).deed(line.app, line.connection).passes)
    }

    @Test(arguments: noticeCases) func `a limit is reported even where it has no effect`(line: NoticeCase) throws {
        let found = try line.app.findings(line.kind, line.settings).filter { $0.limit == line.limit }
        #expect(found.map(\.severity) == [.notice])
        guard let quiet = line.quiet else { return }
        let other = try quiet.findings(line.kind, line.quietSettings ?? line.settings)
        #expect(!other.contains { $0.limit == line.limit && $0.severity == .notice })
    }

    @Test func `every limit has a case in these tests`() {
        // Files that installs have built in are among the domain's own tests.
        let covered = Set(clientCases.map(\.limit)).union(noticeCases.map(\.limit))
            .union([.nextKeyNotBuiltIn, .builtInPinsOutdated])
        #expect(Set(ClientLimit.allCases).subtracting(covered).isEmpty)
    }

    @Test func `every limit has a description and an identifier`() {
        for limit in ClientLimit.allCases {
            #expect(limit.rawValue.utf8.allSatisfy { (97...122).contains($0) || $0 == UInt8(ascii: "_") })
            #expect(limit.title.first?.isUppercase == true && limit.title.last != ".")
        }
        #expect(Set(ClientLimit.allCases.map(\.title)).count == ClientLimit.allCases.count)
    }

    @Test func `limits are described in whole sentences`() throws {
        for line in clientCases {
            for finding in try line.app.findings(line.kind, line.settings, suffixes: line.suffixes) {
                for text in [finding.detail, finding.remedy] {
                    #expect(text.last == "." && !text.contains("..") && !text.contains("  "), "\(text)")
                    #expect(!text.contains(" ,") && !text.contains("Optional("), "\(text)")
                }
            }
        }
    }

    /// What the linter passes works: wherever nothing is said but notices, the client lets through what the state lets
    /// through, and refuses the rest.
    @Test func `a client without limits gets exactly what is stated`() throws {
        var agreed: [ClientKind: Int] = [:]
        for app in ClientApp.all {
            let view = try app.view()
            let known = view.hosts.flatMap { $0.pins + ($0.candidate ?? []) }.flatMap(\.certificates)
            // The same for all kinds.
            var statements: [String: Taken] = [:]
            for (kind, settings) in clientForms {
                guard try app.findings(kind, settings).allSatisfy({ $0.severity == .notice }) else { continue }
                let double = ClientDouble(kind: kind, settings: settings)
                for connection in try Self.connections(known.filter { !$0.isAuthority }, of: kind) {
                    // Probes see what is served.
                    var seen = app
                    seen.served = connection.pins
                    let deed = try double.deed(seen, connection)
                    let leaves = connection.chain.map { Hex.encode($0.sha256) }
                    let key = "\(connection.name) \(leaves) \(connection.time.seconds)"
                    let stated = try statements[key] ?? app.stated(connection)
                    statements[key] = stated
                    #expect(
                        deed.passes == stated.passes && deed != .crashes,
                        "\(kind) \(settings.dynapins) \(settings.schema) \(connection.name) \(connection.platform) \(view.hosts.map(\.pattern))"
                    )
                    agreed[kind, default: 0] += 1
                }
            }
        }
        // There is something that each kind can do.
        #expect(ClientKind.allCases.allSatisfy { agreed[$0, default: 0] > 10 }, "\(agreed)")
    }

    /// To each name with each certificate that is valid for it, and with one of a key that nobody pinned.
    private static func connections(_ known: [CertificateFacts], of kind: ClientKind) throws -> [Connection] {
        let platforms = kind == .reactNative || kind == .sslPinning ? Connection.Platform.allCases : [.ios]
        let names = [
            "api.example.com", "www.example.com", "example.com", "a.example.com", "a.b.example.com",
            "cdn.example.com", "a.cdn.example.com", "a.b.cdn.example.com", "elsewhere.test",
        ]
        return names.flatMap { name in
            let fit = known.filter { $0.covers(host(name)).isCovered } + [leaf(7, name)]
            return fit.flatMap { certificate in
                platforms.flatMap { platform in
                    [monday, monday.adding(seconds: 2 * day)].map {
                        Connection(name, certificate, at: $0, device: alice, on: platform)
                    }
                }
            }
        }
    }

    @Test func `a well-made app meets few limits`() throws {
        for (kind, settings) in clientForms where settings != .simple {
            let findings = try ClientApp.clean.findings(kind, settings)
            #expect(findings.allSatisfy { $0.severity == .notice }, "\(kind): \(findings.map(\.limit.rawValue))")
            #expect(findings.count <= 3, "\(kind): \(findings.map(\.limit.rawValue))")
        }
        for kind in [ClientKind.okhttp, .okhttp3, .trustkitIOS, .androidNSC, .curl] {
            #expect(try ClientApp.clean.findings(kind).isEmpty)
        }
    }

    @Test func `several limits are listed with the worst first`() throws {
        for line in clientCases {
            let findings = try line.app.findings(line.kind, line.settings, suffixes: line.suffixes)
            #expect(findings.map(\.severity) == findings.map(\.severity).sorted(by: >))
            #expect(try line.app.findings(line.kind, line.settings, suffixes: line.suffixes) == findings)
            #expect(Set(findings).count == findings.count)
        }
    }

    @Test func `a limit names a bounded number of hosts`() throws {
        let hosts = (0..<300).map { host("*.h\($0).example.com") }
        let events = hosts.flatMap { hosting(on: $0, Keyed(leaf(1, $0.text)), Keyed(leaf(2, $0.text), .backup)) }
        let app = ClientApp(events + [.killSwitchEngaged(nil, expiresAt: monday.adding(seconds: day))])
        let findings = try app.findings(.curl)
        #expect(findings.count == ClientLimits.findingLimit)
        #expect(findings.first?.limit == .killSwitch && findings.dropFirst().allSatisfy { $0.limit == .wildcard })
        let matrix = ClientMatrix([.curl: .plain], view: try app.view()) { publicSuffixes.contains($0) }
        #expect(matrix.columns.map(\.count) == [301] && matrix.columns[0].findings == findings)
        #expect(matrix.rows.count == 300)
        #expect(matrix.rows.allSatisfy { $0.cells[0].limits == [.killSwitch, .wildcard] })
    }

    @Test func `a limit of Wultra names the day until which a client trusts a removed certificate`() throws {
        let notice = try #require(try ClientApp.clean.findings(.wultra).first { $0.limit == .removalDelayed })
        let end = leaf(1).notAfter
        #expect(notice.detail.contains(end.rfc3339))

        let settings = ClientSettings.plain
        var client = try ClientDouble.wultraClient(settings)
        #expect(try ClientDouble.update(&client, ClientApp.clean.view(), settings) == .ok)
        // Both keys are replaced, the first for cause.
        let new = ClientApp(hosting(Keyed(leaf(3, days: 400)), Keyed(leaf(4, days: 400), .backup)), served: [3])
        for (now, verdict) in [
            (monday.adding(seconds: day), .trusted), (end.adding(seconds: -1), .trusted), (end, .untrusted),
        ]
            as [(Timestamp, WultraClient.Verdict)]
        {
            #expect(try ClientDouble.update(&client, new.view(at: now), settings) == .ok)
            #expect(client.verdict(commonName: "api.example.com", chain: [leaf(3, days: 400).sha256]) == .trusted)
            #expect(client.verdict(commonName: "api.example.com", chain: [leaf(1).sha256]) == verdict)
        }
    }
}
