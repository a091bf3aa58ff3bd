import Logging
import PinledgerServer

extension Set<Setting.Program> {
    fileprivate static let servers: Set = [.server, .trial]
    fileprivate static let edges: Set = [.edge, .export]
    fileprivate static let all: Set = [.server, .trial, .edge]
}

extension SettingDeclaration.Form {
    fileprivate static let count = Self.integer(0...1_000_000)
    fileprivate static let rate = Self.number(0...1_000_000_000)
    fileprivate static let upToAnHour = Self.integer(1...3600)
    fileprivate static let upToADay = Self.integer(1...86_400)
}

extension Setting {
    /// The one place where a setting is declared: flags, variables, the file's keys, defaults, limits, help and the handbook's page are
    /// made from it. Without a default, so that each new setting is thought of here.
    func declared(in program: Program) -> SettingDeclaration {
        let (limits, caching) = (Server.Limits(), ClientCaching())
        return switch self {
        case .database:
            .init(
                [.server], .text, "conninfo",
                "Connection string of the database, in libpq's form. May name several hosts.", .secret)
        case .upstream:
            .init(
                .edges, .list, "url",
                "Address of the server, or edge, whose documents to serve: where clients ask it. Where one address fails, the next one is asked."
            )
        case .upstreamTokenFile:
            .init(
                .edges, .text, "file",
                "File with a token for the upstream: of a server one with the role viewer, of an edge one of its --downstream-token-file. It is read again for each list.",
                .secret)
        case .upstreamCAFile:
            .init(
                .edges, .text, "file", "Certificate authorities (PEM) of the upstream, and no others.",
                default: .description("those of this machine"))
        case .upstreamInterval:
            .init(
                [.edge], .upToAnHour, "seconds",
                "How often to compare all documents with the upstream's, besides the stream of news.",
                default: .value("60"))
        case .trustedKeys:
            .init(
                .edges, .text, "file",
                "Root of trust, or JWKS with the keys that sign documents, such as apps ship. No document of another key is served, whatever the upstream says. It is read again when it changes, and on SIGHUP."
            )
        case .downstreamTokenFile:
            .init(
                [.edge], .text, "file",
                "File with the tokens, one a line, of edges that may follow this one. It is read again when it changes, and on SIGHUP.",
                default: .description("none may"), .secret)
        case .stateDirectory:
            .init(
                .all, .text, "directory",
                program == .edge
                    ? "Directory of this edge alone, in which it keeps its documents: with it, it starts without its upstream, and never serves anything older."
                    : "Directory of this node alone, on its own disk, in which it remembers how far the ledger went and which documents it served."
            )
        case .listen:
            .init(
                .all, .text, "host:port", "Address for clients.",
                default: .value(program == .edge ? "127.0.0.1:8450" : "127.0.0.1:8440"))
        case .adminListen:
            .init(
                [.server], .text, "host:port", "Address for operators.",
                default: .description("the address for clients"))
        case .metricsListen:
            .init(
                [.server, .edge], .text, "host:port",
                "Address for monitoring systems, which read /metrics there without a token.",
                default: .description(program == .edge ? "none" : "none; operators read it with theirs"))
        case .kekFile:
            .init(
                [.server], .text, "file",
                "File with the 32-byte key (base64 or hex) that seals secrets in the database.", .secret)
        case .nextKekFile:
            .init(
                [.server], .text, "file",
                "File with the key-encryption key that `pinledger key rewrap` is to change to: the node accepts both, and records with the one that the ledger has.",
                .secret)
        case .batchPublicKey:
            .init(
                [.server], .list, "key",
                "For a node without the key-encryption key: the public key with which the other nodes' batches are signed, as `pinledger key batch-public-key` prints it. The node believes no event without such a signature."
            )
        case .bundles:
            .init(
                [.server], .text, "directory",
                "Directory with entry bundles, as `pinledger bundles write DIRECTORY` writes them: the node reads the entries of pruned events there."
            )
        case .readOnly:
            .init(
                [.server], flag: "Serve only: accept no changes and need no private key.")
        case .writeQueue:
            .init(
                [.server], .integer(1...1_000_000_000), "count",
                "Changes that may wait to be recorded. Further ones get 503.", default: .value("2000"))
        case .databaseTimeout:
            .init(
                [.server], .number(0.5...86_400), "seconds",
                "How long a change may wait for the database before it gets 503.", default: .value("5"))
        case .requireSynchronous:
            .init(
                [.server],
                flag:
                    "Record changes only while the database has commits wait for a synchronous standby, and take in from a primary only what such a standby has."
            )
        case .documentLifetime:
            .init(
                // Documents of a trial may be valid for less than any client needs.
                .servers, .integer((program == .trial ? 1 : 300)...31_536_000), "seconds",
                "How long a signed document is valid.", default: .value("86400"))
        case .documentMaxAge:
            .init(
                Set(Program.allCases), .integer(0...86_400), "seconds",
                "How long clients and caches may use a document before they ask again"
                    + (program == .export
                        ? ": for --objects." : program == .edge ? "." : "; at most half of --document-lifetime."),
                default: .value("\(caching.maxAge)"))
        case .staleIfError:
            .init(
                .all, .integer(0...ClientCaching.longestStaleIfError), "seconds",
                "How long caches may go on serving what they have while this \(program == .edge ? "edge" : "server") fails, and a document no longer than it is valid; 0 for not at all.",
                default: .value("\(caching.staleIfError)"))
        case .countryHeader:
            .init(
                .servers, .text, "name",
                "Header field with the client's country, such as CF-IPCountry. A proxy must set or remove it in every request."
            )
        case .countryDatabase:
            .init(
                .servers, .text, "file",
                "MaxMind database of the countries of addresses. It is read again when it changes, and on SIGHUP.")
        case .trustedProxy:
            .init(
                .all, .list, "range", "Addresses of proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8.",
                .reloaded)
        case .logLevel:
            .init(
                .all, .word(Logger.Level.allCases.map(\.rawValue)), "level", "Lowest level to log.",
                // On a trial's terminal, what is to be read is what is wrong.
                default: .value(program == .trial ? "warning" : "notice"), .reloaded)
        case .logFormat:
            .init(
                [.server, .edge], .word(LogFormat.allCases.map(\.rawValue)), "form",
                "Form of the log: text for people, or json, one object a line, for programs.", default: .value("text"))
        case .accessLog:
            .init(
                [.server, .edge], .text, "file",
                "File for one line for each answered request, in the form of --log-format; - for the standard output. It is opened again when it was moved away, and on SIGHUP.",
                default: .description("none"))
        case .tlsCertificate:
            .init(
                [.server, .edge], .text, "file", "Certificate chain (PEM). With it, every address speaks HTTPS.")
        case .tlsKey:
            .init(
                [.server, .edge], .text, "file",
                "The certificate's private key (PEM). Both files are read again when they change, and on SIGHUP.",
                .secret)
        case .adminClientCAFile:
            .init(
                [.server], .text, "file",
                "Certificate authorities (PEM) of operators: --admin-listen then takes no connection without a certificate of theirs, besides the token."
            )
        case .adminBehindProxy:
            .init(
                [.server],
                flag:
                    "A proxy in front of the operators' address speaks TLS: without a certificate of its own, the node may listen there on other addresses than this machine's."
            )
        case .snapshotAudit:
            .init(
                [.server], flag: "Compare the snapshot with the ledger after the start.", default: .value("true"),
                hasFlag: false)
        case .allowPrivateRange:
            .init(
                .servers, .list, "range",
                "Private addresses that webhooks, witnesses, identity providers and probes may have, such as 10.0.0.0/8.",
                in: .outgoing)
        case .allowHTTPWebhooks:
            .init(
                .servers, flag: "Allow webhooks, witnesses and identity providers over http, for development.",
                in: .outgoing)
        case .webhookTimeout:
            .init(
                .servers, .integer(1...60), "seconds",
                "How long a webhook's receiver, a witness or an identity provider may take to answer.",
                default: .value("10"), in: .outgoing)
        case .webhookCAFile:
            .init(
                .servers, .text, "file",
                "Certificate authorities (PEM) to trust for webhooks' receivers, witnesses and identity providers besides the system's.",
                in: .outgoing)
        case .firebaseCredentials:
            .init(
                .servers, .list, "file",
                "Key file of a service account. The node keeps its project up to date with the apps that name it.",
                in: .firebase, .secret)
        case .firebaseInterval:
            .init(
                .servers, .upToADay, "seconds",
                "How often to check a project when nothing has changed in the ledger.", default: .value("300"),
                in: .firebase)
        case .firebaseEndpoint:
            .init(
                .servers, .text, "url",
                "Address to use instead of Google's, for tests: https, or http on this machine.",
                in: .firebase)
        case .maxConnections:
            .init(
                .all, .integer(1...1_000_000), "count", "Connections at once.",
                default: .value("\(limits.connections)"), in: .limits)
        case .clientStreams:
            .init(
                .all, .count, "count", "Document streams at once, each a connection or part of one.",
                default: .description("10000, and at most three quarters of the connections"), in: .limits)
        case .connectionsPerNetwork:
            .init(
                .all, .count, "count",
                "Connections at once from one network (/24, /48) to the clients' address; 0 for no limit. Trusted proxies do not count.",
                default: .description("a quarter of the connections"), in: .limits, .reloaded)
        case .streamsPerNetwork:
            .init(
                .all, .count, "count", "Document streams at once from one network; 0 for no limit.",
                default: .description("a quarter of the streams"), in: .limits)
        case .requestsPerNetwork:
            .init(
                .all, .rate, "count",
                "Expensive requests per second from one network (evaluated documents, responses computed for deployed clients), and ten times as many at once; 0 for no limit.",
                default: .value(limits.networkRequests.shortText), in: .limits, .reloaded)
        case .requestsPerOperator:
            .init(
                .all, .rate, "count",
                "Requests per second of one operator, and ten times as many at once; 0 for no limit. Kill switches can be engaged beyond it.",
                default: .value(limits.operatorRequests.shortText), in: .limits, .reloaded)
        case .requestMemory:
            .init(
                .all, .integer(1...1_048_576), "MiB",
                "MiB that unfinished requests may hold. Above it the server ends those that have been idle longest.",
                default: .value("\(limits.requestMemory >> 20)"), in: .limits)
        case .headerTimeout:
            .init(
                .all, .upToAnHour, "seconds", "Time for a request's header, and for the TLS handshake.",
                default: .value("\(limits.headerSeconds)"), in: .limits)
        case .idleTimeout:
            .init(
                .all, .upToADay, "seconds", "How long a connection may stay idle.",
                default: .value("\(limits.idleSeconds)"), in: .limits)
        case .bodyTimeout:
            .init(
                .all, .upToAnHour, "seconds", "Time for a request's body.", default: .value("\(limits.bodySeconds)"),
                in: .limits)
        case .writeTimeout:
            .init(
                .all, .upToAnHour, "seconds", "How long a client may stop reading a response.",
                default: .value("\(limits.writeSeconds)"), in: .limits)
        case .drainDelay:
            .init(
                .all, .integer(0...3600), "seconds",
                "How long to keep serving after SIGTERM, while /readyz answers 503.", default: .value("0"), in: .limits)
        case .drainTimeout:
            .init(
                .all, .upToAnHour, "seconds", "How long requests in progress may then take to finish.",
                default: .value("\(limits.drainSeconds)"), in: .limits)
        case .vantage:
            .init(
                .servers, .text, "name",
                "Name of this node's place in the network. With it, the node probes every host on a schedule.",
                in: .probes)
        case .probeInterval:
            .init(
                .servers, .integer(1...604_800), "seconds", "Time between two probes of a host.",
                default: .value("900"), in: .probes)
        case .resolve:
            .init(
                .servers, .list, "name=address", "Address to probe a name at, instead of asking DNS.", in: .probes)
        case .publicName:
            .init(
                .servers, .list, "name",
                "Name at which clients reach this service. The node warns of apps that pin it.", in: .probes)
        case .acmeDirectory:
            .init(
                .servers, .list, "url",
                "Directory of an ACME server, such as https://acme-v02.api.letsencrypt.org/directory: the node asks there when certificates that it probes should be renewed, and reports early renewals.",
                in: .probes)
        case .telemetryRetention:
            .init(
                .servers, .integer(2...3650), "days", "Days to keep client reports.", default: .value("14"),
                in: .reports)
        case .telemetryRate:
            .init(
                .servers, .rate, "count",
                "Outcomes per second that one network (/24, /48) may report, and ten times as many at once; 0 for no limit.",
                default: .value("500"), in: .reports)
        case .warnDays:
            .init(
                .servers, .text, "days", "Warn this many days before something expires.", default: .value("30,14,7,1"),
                in: .announcements)
        case .otlpEndpoint:
            .init(
                [.server], .text, "url",
                "Address of a collector that takes OTLP over HTTP, such as http://localhost:4318: traces of operators' requests and webhooks are sent there.",
                default: .description("none"), in: .traces)
        case .otlpHeadersFile:
            .init(
                [.server], .text, "file",
                "File with the header fields of requests to the collector, one a line, such as Authorization: Bearer …. Only its owner may read it.",
                in: .traces, .secret)
        case .otlpCAFile:
            .init(
                [.server], .text, "file", "Certificate authorities (PEM) of the collector, and no others.",
                default: .description("those of this machine"), in: .traces)
        case .traceRatio:
            .init(
                [.server], .number(0...1), "share",
                "Share of the traces that begin here and are recorded, from 0 to 1. What comes with a trace of its own is recorded where its sender records it.",
                default: .value("1"), in: .traces)
        case .expectCheckpoint:
            .init(
                .servers, .text, "file",
                "File with a checkpoint, as `pinledger audit checkpoint` prints it, the https address of one, or `witnesses` to ask those of the log. The node records and signs only on a ledger that goes on from it.",
                in: .memory)
        }
    }
}

extension Double {
    /// Without a fraction that is zero.
    fileprivate var shortText: String { Int(exactly: self).map(String.init) ?? String(self) }
}
