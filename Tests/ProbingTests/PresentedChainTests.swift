import Addresses
import Fixtures
import Glibc
import PinWire
import Probing
import SeededRandom
import Testing

/// Against `openssl s_server`.
@Suite(.takingTurns, .timeLimit(.minutes(60))) struct `A real host's chain` {
    private let authority: TestAuthority

    init() throws {
        self.authority = try TestAuthority.shared.get()
    }

    @Test(arguments: [
        ("rsa", KeyKind.rsa, SignatureKind.rsaPSS), ("ecdsa", .ecdsa, .ecdsa), ("ed25519", .eddsa, .ed25519),
    ])
    func `a real host's chain is that of its files, in the order sent`(
        leaf: String, kind: KeyKind, signature: SignatureKind
    ) async throws {
        let server = try OpenSSLServer(leaf)
        try await withProber { prober in
            let service = try await prober.probe(server.target()).service()
            let chain = try #require(service.chains.first)
            #expect(service.chains.count == 1 && service.otherKind == .absent)
            let files = try [leaf, "middle"].map { try self.authority.der($0) }
            #expect(chain.certificates == files)
            #expect(chain.keyKind == kind && chain.signature == signature && chain.version == "TLSv1.3")
            #expect(chain.cipher?.hasPrefix("TLS_") == true && chain.incompletion == nil)
            #expect(chain.verification == .valid)
        }
    }

    @Test func `a real host's chain keeps an order that is wrong`() async throws {
        let server = try OpenSSLServer("ecdsa", chain: "backwards.pem")
        try await withProber { prober in
            let chain = try #require(try await prober.probe(server.target()).service().chains.first)
            let files = try ["ecdsa", "root", "middle"].map { try self.authority.der($0) }
            #expect(chain.certificates == files)
            #expect(chain.verification == .valid)
        }
    }

    @Test(arguments: [
        ("middle.pem", ["ecdsa", "middle", "root"], ["ecdsa", "middle"]),
        ("whole.pem", ["ecdsa", "middle", "root"], ["ecdsa", "middle", "root"]),
        ("stray.pem", ["ecdsa", "middle", "root"], ["ecdsa", "middle"]),
        ("backwards.pem", ["ecdsa", "middle", "root"], ["ecdsa"]),
        ("namesake.pem", nil, ["ecdsa"]),
        (nil, nil, ["ecdsa"]),
    ])
    func `a real host's chain as sent is kept apart from the path that clients build`(
        file: String?, verified: [String]?, linked: [String]
    ) async throws {
        let server = try OpenSSLServer("ecdsa", chain: file)
        for (trustFile, path) in [(self.authority.file("root.pem"), verified ?? linked), ("/nowhere.pem", linked)] {
            try await withProber(trustFile: trustFile) { prober in
                let chain = try #require(try await prober.probe(server.target()).service().chains.first)
                let files = try path.map { try self.authority.der($0) }
                #expect(chain.path == files)
                #expect((chain.verification == .valid) == (verified != nil && trustFile != "/nowhere.pem"))
            }
        }
    }

    @Test func `a real host's chain is seen in either version alone`() async throws {
        for (argument, version) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
            for leaf in ["rsa", "ecdsa"] {
                let server = try OpenSSLServer(leaf, [argument])
                try await withProber { prober in
                    let service = try await prober.probe(server.target()).service()
                    #expect(service.chains.map(\.version) == [version] && service.otherKind == .absent)
                }
            }
        }
    }

    @Test func `a real host's chain is proved by decryption where TLS 1.2 has no signature`() async throws {
        let server = try OpenSSLServer("rsa", ["-tls1_2", "-cipher", "AES128-GCM-SHA256"])
        try await withProber { prober in
            let chain = try #require(try await prober.probe(server.target()).service().chains.first)
            #expect(chain.cipher == "TLS_RSA_WITH_AES_128_GCM_SHA256" && chain.signature == nil)
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a real host's chain comes with the one of the other kind of key`(version: String) async throws {
        let server = try OpenSSLServer(
            "ecdsa", [version, "-dcert", "rsa.pem", "-dkey", "rsa.key", "-dcert_chain", "middle.pem"])
        try await withProber { prober in
            let service = try await prober.probe(server.target()).service()
            #expect(service.otherKind == .served && Set(service.chains.map(\.keyKind)) == [.ecdsa, .rsa])
            let both = try ["ecdsa", "rsa"].map { try [self.authority.der($0), self.authority.der("middle")] }
            #expect(Set(service.chains.map(\.certificates)) == Set(both))
            let once = ProbeOptions(asksForOtherKind: false)
            let first = try await prober.probe(server.target(), options: once).service()
            #expect(first.chains.count == 1 && first.otherKind == .notAsked)
        }
    }

    @Test(.enabled(if: TestDepth.isFull, "each chain takes eight seconds"))
    func `a real host's chain of the other kind of key may take as long as the first`() async throws {
        let server = try OpenSSLServer(
            "ecdsa", ["-dcert", "rsa.pem", "-dkey", "rsa.key", "-dcert_chain", "middle.pem"])
        let host = try SocketHost { [port = server.port] connection in
            usleep(8_000_000)
            connection.relay(to: port)
        }
        try await withProber { prober in
            let options = ProbeOptions(addressTimeout: .seconds(15))
            let service = try await prober.probe(host.target(), options: options).service()
            #expect(service.otherKind == .served, "\(service.otherKind)")
        }
    }

    @Test func `a real host's chain is that of the name asked for`() async throws {
        let server = try OpenSSLServer(
            "ecdsa", ["-servername", "other.test", "-cert2", "other.pem", "-key2", "other.key"])
        try await withProber { prober in
            for (target, leaf) in [
                (try server.target("probe.test"), "ecdsa"), (try server.target("other.test"), "other"),
                (try ProbeTarget("127.0.0.1:\(server.port)", serverName: HostPattern("other.test")), "other"),
                (try ProbeTarget("127.0.0.1:\(server.port)"), "ecdsa"),
            ] {
                let chain = try #require(try await prober.probe(target).service().chains.first)
                #expect(chain.certificates.first == (try self.authority.der(leaf)))
            }
        }
    }

    @Test func `a real host's chain is judged, never refused`() async throws {
        let sound = try OpenSSLServer("ecdsa")
        let incomplete = try OpenSSLServer("ecdsa", chain: nil)
        let lonely = try OpenSSLServer("lonely", chain: nil)
        let weak = try OpenSSLServer("weak", ["-cipher", "DEFAULT@SECLEVEL=0"])
        for (server, host, time, reason) in [
            (sound, "probe.test", Timestamp(rfc3339: "2099-01-01T00:00:00Z"), "certificate has expired"),
            (sound, "probe.test", Timestamp(rfc3339: "2001-01-01T00:00:00Z"), "certificate is not yet valid"),
            (sound, "wrong.test", nil, "hostname mismatch"),
            (sound, "127.0.0.2", nil, "IP address mismatch"),
            (incomplete, "probe.test", nil, "unable to get local issuer certificate"),
            (lonely, "probe.test", nil, "self-signed certificate"),
            (weak, "probe.test", nil, "EE certificate key too weak"),
        ] {
            // An address leads to itself.
            let listener = host == "127.0.0.2" ? try OpenSSLServer("ecdsa", address: "127.0.0.2") : server
            try await withProber(at: time) { prober in
                let target = try ProbeTarget("\(host):\(listener.port)")
                let chain = try #require(try await prober.probe(target).service().chains.first)
                guard case .invalid(let code, reason) = chain.verification, code != 0 else {
                    Issue.record("\(host): \(chain.verification), not \(reason)")
                    return
                }
            }
        }
        try await withProber { prober in
            let chain = try await prober.probe(ProbeTarget("127.0.0.1:\(sound.port)")).service().chains.first
            #expect(chain?.verification == .valid)
        }
        try await withProber(trustFile: "/nowhere.pem") { prober in
            #expect(prober.lacksTrustStore)
            let chain = try await prober.probe(sound.target()).service().chains.first
            #expect(chain?.verification == .unknown)
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a real host's chain is seen although the host wants a client's certificate`(version: String) async throws {
        let server = try OpenSSLServer(
            "ecdsa", [version, "-Verify", "1", "-verify_return_error", "-CAfile", "root.pem"])
        try await withProber { prober in
            let chain = try #require(
                try await prober.probe(server.target(), options: ProbeOptions(asksForOtherKind: false)).service()
                    .chains.first)
            #expect(chain.certificates.first == (try self.authority.der("ecdsa")) && chain.signature == .ecdsa)
            // In TLS 1.3 the host says so only after the client is done.
            #expect((chain.incompletion == nil) == (version == "-tls1_3"))
        }
    }

    @Test func `a real host's chain is known for each address of a name, whatever the others do`() async throws {
        let first = try OpenSSLServer("ecdsa")
        let second = try OpenSSLServer("rsa", address: "[::1]", port: first.port)
        try await withProber(addresses: ["127.0.0.1", "127.0.0.3", "::1", "127.0.0.1", "10.1.2.3"]) { prober in
            let report = try await prober.probe(first.target())
            #expect(report.failure == nil && report.omitted.isEmpty)
            #expect(report.addresses.map(\.address.description) == ["::1", "127.0.0.1", "127.0.0.3", "10.1.2.3"])
            #expect(report.addresses.map { $0.failure?.kind } == [nil, nil, .refused, .blocked])
            #expect(report.chains.map(\.keyKind) == [.rsa, .ecdsa])
        }
        _ = second
    }

    @Test func `a real host's chain is looked for at eight addresses at most, of both families`() async throws {
        let addresses = (1...20).map { "127.0.1.\($0)" } + ["::1"]
        try await withProber(addresses: addresses) { prober in
            let report = try await prober.probe(ProbeTarget("probe.test:1"), options: patient)
            #expect(report.addresses.count == 8 && report.omitted.count == 13)
            #expect(report.addresses.first?.address.description == "::1")
            #expect(report.addresses.allSatisfy { $0.failure?.kind == .refused })
        }
    }

    @Test func `a real host's chain comes with the application protocol the host chose`() async throws {
        let server = try OpenSSLServer("ecdsa", ["-alpn", "http/1.1"])
        try await withProber { prober in
            let options = ProbeOptions(applicationProtocols: ["h2", "http/1.1"])
            let chain = try await prober.probe(server.target(), options: options).service().chains.first
            #expect(chain?.applicationProtocol == "http/1.1")
            let without = try await prober.probe(server.target()).service().chains.first
            #expect(without?.applicationProtocol == nil)
        }
    }
}
