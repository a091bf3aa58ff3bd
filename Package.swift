// swift-tools-version: 6.3
import PackageDescription

// What Xcode's privacy report shows of the library. On Linux a resource would only cost a bundle.
#if os(Linux)
    let privacyManifest: [Resource] = []
#else
    let privacyManifest: [Resource] = [.copy("PrivacyInfo.xcprivacy")]
#endif

let package = Package(
    name: "pinledger",
    // The client-side targets also compile for Apple's systems, where Crypto is CryptoKit.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .executable(name: "pinledger", targets: ["pinledger"]),
        .library(name: "PinWire", targets: ["PinWire"]),
        .library(name: "PinledgerClient", targets: ["PinledgerClient"]),
        .library(name: "PinledgerClientNIO", targets: ["PinledgerClientNIO"]),
    ],
    traits: [
        .trait(name: "Geo", description: "Looks up the countries of addresses, through libmaxminddb."),
        .default(enabledTraits: []),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    ],
    targets: [
        // Pure: no I/O, no clock. What runs on devices too, the tree, the domain, what deployed clients are served.
        .target(name: "PinWire", dependencies: [.product(name: "Crypto", package: "swift-crypto")]),
        // What apps embed: verified documents, and what they say of a connection.
        .target(
            name: "PinledgerClient", dependencies: ["PinWire", .product(name: "Crypto", package: "swift-crypto")],
            exclude: privacyManifest.isEmpty ? ["PrivacyInfo.xcprivacy"] : [], resources: privacyManifest,
            swiftSettings: [.strictMemorySafety()]),
        // The same for services: TLS of SwiftNIO, and fetches with AsyncHTTPClient.
        .target(
            name: "PinledgerClientNIO",
            dependencies: [
                "PinWire", "PinledgerClient",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ]),
        .target(
            name: "TransparencyLog", dependencies: ["PinWire", .product(name: "Crypto", package: "swift-crypto")]),
        .target(name: "Addresses", swiftSettings: [.strictMemorySafety()]),
        .target(name: "Pinning", dependencies: ["Addresses", "PinWire"]),
        .target(name: "ClientFormats", dependencies: ["PinWire", "Pinning"]),

        // One C library each, behind Swift values.
        .target(name: "KeyFiles", dependencies: ["COpenSSL", "PinWire"], swiftSettings: [.strictMemorySafety()]),
        .target(
            name: "Keys", dependencies: ["COpenSSL", "CSodium", "Concurrency", "PinWire", "TransparencyLog"],
            swiftSettings: [.strictMemorySafety()]),
        .target(
            name: "Probing",
            dependencies: [
                "Addresses", "COpenSSL", "Concurrency", "PinWire",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: [.strictMemorySafety()]
        ),
        .target(
            name: "Postgres",
            dependencies: [
                "CPostgres", "Concurrency", "PinWire", "Traces",
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: [.strictMemorySafety()]),

        // Every line that the program logs.
        .target(name: "LogLines", dependencies: [.product(name: "Logging", package: "swift-log")]),

        // What a node counts and measures, and the text that monitoring systems read of it.
        .target(name: "Exposition", dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")]),

        // A request's place in a trace, and the spans that are recorded of it.
        .target(
            name: "Traces",
            dependencies: [
                "Exposition", "PinWire",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        // What sends spans to a collector.
        .target(
            name: "TraceExport",
            dependencies: [
                "Concurrency", "LogLines", "PinWire", "Traces",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),

        // Work beside requests: in rounds, within limits, once for all who ask.
        .target(
            name: "Concurrency", dependencies: ["LogLines", .product(name: "Logging", package: "swift-log")],
            swiftSettings: [.strictMemorySafety()]),

        // The ledger.
        .target(
            name: "EventStore",
            dependencies: [
                "Concurrency", "Exposition", "LogLines", "PinWire", "Pinning", "Postgres", "TransparencyLog",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            // A link to db/migrations: the build plans again when its files change.
            exclude: ["Migrations"],
            plugins: ["EmbedMigrations"]
        ),
        // Makes source of db/migrations.
        .plugin(name: "EmbedMigrations", capability: .buildTool(), path: "Sources/Plugins/EmbedMigrations"),
        // Secrets that the database keeps sealed.
        .target(name: "Secrets", dependencies: ["EventStore", "Keys", "PinWire", "Pinning", "Postgres"]),
        // What is observed of the world: probes of servers, clients' adoption, outcomes that clients report.
        .target(
            name: "Signals",
            dependencies: [
                "Addresses", "Concurrency", "EventStore", "Exposition", "KeyFiles", "Keys", "LogLines", "PinWire",
                "Pinning", "Postgres", "Probing", "Secrets",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // Signed documents, made from the ledger.
        .target(
            name: "Publishing",
            dependencies: [
                "CBrotli", "CZlib", "Concurrency", "EventStore", "Exposition", "Keys", "LogLines", "PinWire", "Pinning",
                "Postgres", "Secrets", "TransparencyLog",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),

        // What an edge does instead of following a ledger: it follows an upstream.
        .target(
            name: "Edge",
            dependencies: [
                "Concurrency", "Keys", "LogLines", "PinWire", "Publishing",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),

        // What is sent to other systems.
        .target(
            name: "Webhooks",
            dependencies: [
                "Concurrency", "EventStore", "Exposition", "Keys", "LogLines", "PinWire", "Pinning", "Postgres",
                "Probing", "Secrets", "Traces",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        .target(
            name: "Firebase",
            dependencies: [
                "ClientFormats", "Keys", "PinWire", "Pinning", "Webhooks",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),

        // Witnesses of the transparency log, and the checkpoints that they cosign.
        .target(
            name: "Witnesses",
            dependencies: [
                "Concurrency", "EventStore", "Keys", "LogLines", "PinWire", "Pinning", "Postgres", "Secrets",
                "TransparencyLog", "Webhooks",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),

        // Tokens of OpenID Connect providers.
        .target(
            name: "IdentityTokens",
            dependencies: [
                "Concurrency", "PinWire", "Pinning", "Webhooks", .product(name: "JWTKit", package: "jwt-kit"),
            ]
        ),

        // openapi/openapi.yaml and the handbook's pages, embedded.
        .target(name: "CHandbook", exclude: ["openapi.json", "openapi.yaml", "pages"]),
        .target(name: "Handbook", dependencies: ["CHandbook", "CMarkdown"], swiftSettings: [.strictMemorySafety()]),

        // The server, and the program: serving, and the operators' commands.
        .target(
            name: "PinledgerServer",
            dependencies: [
                "Addresses", "CMalloc", "CProcess", "CZlib", "ClientFormats", "Concurrency", "Countries", "Edge",
                "EventStore",
                "Exposition", "Firebase", "Handbook", "IdentityTokens", "KeyFiles", "Keys", "LogLines", "PinWire",
                "Pinning",
                "Postgres", "Probing",
                "Publishing", "Secrets", "Signals", "Traces", "TransparencyLog", "Webhooks", "Witnesses",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            exclude: ["FastPath/README.md"]
        ),
        .executableTarget(
            name: "pinledger",
            dependencies: [
                "Addresses", "CProcess", "ClientFormats", "Concurrency", "Countries", "Edge", "EventStore",
                "Exposition",
                "Firebase",
                "Handbook", "KeyFiles", "Keys", "LogLines", "PinWire", "Pinning", "PinledgerClient",
                "PinledgerClientNIO", "PinledgerServer", "Postgres",
                "Probing", "PublicSuffixes", "Publishing", "Secrets", "Signals", "TraceExport", "Traces",
                "TransparencyLog",
                "Webhooks", "Witnesses",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
                .product(name: "Configuration", package: "swift-configuration"),
            ]
        ),

        // The system's libraries, as Debian packages them, and what is no more than a Swift face of one.
        .systemLibrary(
            name: "CPostgres", path: "Sources/System/CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(
            name: "CSodium", path: "Sources/System/CSodium", pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/System/COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CBrotli", path: "Sources/System/CBrotli", pkgConfig: "libbrotlienc",
            providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CMalloc", path: "Sources/System/CMalloc"),
        .systemLibrary(
            name: "CMarkdown", path: "Sources/System/CMarkdown", pkgConfig: "libcmark-gfm",
            providers: [.apt(["libcmark-gfm-dev", "libcmark-gfm-extensions-dev"])]),
        .systemLibrary(
            name: "CZlib", path: "Sources/System/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CPublicSuffix", path: "Sources/System/CPublicSuffix", pkgConfig: "libpsl",
            providers: [.apt(["libpsl-dev"])]),
        // Without pkgConfig: a build without the trait needs nothing of it, and is not to be warned that it is missing.
        .systemLibrary(
            name: "CMaxMind", path: "Sources/System/CMaxMind", providers: [.apt(["libmaxminddb-dev"])]),
        // System calls that Swift cannot make.
        .target(name: "CProcess", path: "Sources/System/CProcess"),
        .target(
            name: "Countries", dependencies: [.target(name: "CMaxMind", condition: .when(traits: ["Geo"]))],
            path: "Sources/System/Countries", swiftSettings: [.strictMemorySafety()]
        ),
        .target(
            name: "PublicSuffixes", dependencies: ["CPublicSuffix"], path: "Sources/System/PublicSuffixes",
            swiftSettings: [.strictMemorySafety()]
        ),

        // Tests, and what they run.
        // Makes the conformance kit's vectors, and answers them with the client library.
        .executableTarget(
            name: "ConformanceGenerator",
            dependencies: [
                "PinWire", "PinledgerClient", "SeededRandom", .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Conformance/Generator"
        ),
        .target(name: "SeededRandom", path: "Tests/SeededRandom"),
        .target(
            name: "RootKeys", dependencies: ["PinWire", .product(name: "Crypto", package: "swift-crypto")],
            path: "Tests/RootKeys"),
        .target(name: "ClientLiterals", dependencies: ["Pinning"], path: "Tests/ClientLiterals"),
        .target(
            name: "Fixtures",
            dependencies: [
                "EventStore", "PinWire", "Pinning", "Postgres", "TransparencyLog",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Fixtures"
        ),
        .executableTarget(
            name: "LedgerLoad",
            dependencies: [
                "EventStore", "Keys", "PinWire", "Pinning", "Postgres", "Secrets", "SeededRandom", "TransparencyLog",
            ],
            path: "Tests/Benchmarks/LedgerLoad"
        ),
        .testTarget(
            name: "ConcurrencyTests",
            dependencies: [
                "Concurrency", "Fixtures", "LogLines", "SeededRandom", .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "TracesTests",
            dependencies: [
                "Exposition", "PinWire", "TraceExport", "Traces",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        .testTarget(
            name: "PinledgerClientTests",
            dependencies: [
                "PinWire", "PinledgerClient", "RootKeys", "SeededRandom",
                .product(name: "Crypto", package: "swift-crypto"),
            ]
        ),
        .testTarget(
            name: "PinledgerClientNIOTests",
            dependencies: [
                "PinWire", "PinledgerClient", "PinledgerClientNIO", "SeededRandom",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ]
        ),
        .testTarget(name: "EdgeTests", dependencies: ["Edge", "PinWire", "SeededRandom"]),
        .testTarget(
            name: "EventStoreTests",
            dependencies: [
                "Concurrency", "EventStore", "Fixtures", "LogLines", "PinWire", "Pinning", "Postgres", "SeededRandom",
                "TransparencyLog",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "EventStore", "Exposition", "Firebase", "Fixtures", "ClientFormats", "Keys", "LogLines", "PinWire",
                "Pinning", "PinledgerServer", "Postgres",
                "Publishing",
                "PublicSuffixes", "TransparencyLog", "Secrets", "Webhooks", "pinledger",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        .testTarget(
            name: "ExpositionTests",
            dependencies: ["Exposition", .product(name: "CoreMetrics", package: "swift-metrics")]),
        .testTarget(name: "KeyFilesTests", dependencies: ["KeyFiles", "PinWire"], exclude: ["Vectors"]),
        .testTarget(
            name: "ProbingTests",
            dependencies: [
                "Addresses", "Fixtures", "Probing", "PinWire", "SeededRandom",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "SignalsTests",
            dependencies: [
                "Addresses", "EventStore", "Fixtures", "Keys", "PinWire", "Pinning", "Postgres", "Probing", "Secrets",
                "SeededRandom", "Signals",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "DetectionTests", dependencies: ["PinWire", "Pinning", "SeededRandom"],
            exclude: ["Vectors"]
        ),
        .testTarget(
            name: "ClientFormatsTests",
            dependencies: [
                "ClientLiterals", "ClientFormats", "PinWire", "Pinning",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            exclude: ["Clients/Golden"]
        ),
        .testTarget(name: "FirebaseTests", dependencies: ["Firebase", "ClientFormats", "Keys", "PinWire", "Pinning"]),
        .testTarget(name: "KeysTests", dependencies: ["COpenSSL", "Keys", "PinWire", "TransparencyLog"]),
        .testTarget(
            name: "PinWireTests",
            dependencies: [
                "PinWire", "RootKeys", "SeededRandom", .product(name: "Crypto", package: "swift-crypto"),
            ],
            exclude: ["Golden", "Vectors"]
        ),
        .testTarget(
            name: "PinningTests",
            dependencies: ["Addresses", "ClientLiterals", "PinWire", "Pinning", "RootKeys", "SeededRandom"],
            exclude: ["Golden"]
        ),
        .testTarget(
            name: "PinledgerServerTests",
            dependencies: [
                "Addresses", "CZlib", "Concurrency", "KeyFiles", "EventStore", "Fixtures", "ClientFormats",
                "Exposition", "Handbook", "Keys", "Signals", "PinWire", "Pinning", "PinledgerServer", "Postgres",
                "Probing", "Publishing", "Secrets", "SeededRandom", "Traces",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras"),
                .product(name: "Yams", package: "Yams"),
            ]
        ),
        .testTarget(
            name: "HostileInputTests",
            dependencies: [
                "Addresses", "KeyFiles", "EventStore", "Firebase", "ClientFormats", "Keys", "PinWire", "Pinning",
                "PinledgerServer", "Postgres", "Probing", "Publishing", "SeededRandom", "Signals", "Traces",
                "TransparencyLog",
                "Webhooks",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]
        ),
        .testTarget(name: "PostgresTests", dependencies: ["Fixtures", "Postgres"]),
        .testTarget(
            name: "PublishingTests",
            dependencies: [
                "CZlib", "EventStore", "Exposition", "Fixtures", "Keys", "PinWire", "Pinning", "Postgres", "Publishing",
                "Secrets", "TransparencyLog",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(name: "PublicSuffixesTests", dependencies: ["PublicSuffixes"]),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "Addresses", "EventStore", "Fixtures", "Keys", "PinWire", "Pinning", "Postgres", "Probing", "Secrets",
                "Webhooks",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "IdentityTokensTests",
            dependencies: [
                "IdentityTokens", "PinWire", "Pinning", "Webhooks",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "TransparencyLogTests",
            dependencies: ["PinWire", "TransparencyLog", .product(name: "Crypto", package: "swift-crypto")],
            exclude: ["Vectors"]
        ),
    ]
)

// Benchmarks, a simulation and a fuzzer: whoever runs or tests the program does not build them. They are targets of this package,
// and not packages of their own, because they use what is `package`; the commands that run them set the variable.
if Context.environment["PINLEDGER_MEASURE"] != nil {
    package.targets += [
        .executableTarget(
            name: "AppendBench",
            dependencies: [
                "EventStore", "Keys", "PinWire", "Pinning", "Postgres", "Secrets",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Benchmarks/Append"
        ),
        .executableTarget(
            name: "DetectorSimulation", dependencies: ["Pinning", "SeededRandom"], path: "Tests/Simulation"),
        .executableTarget(
            name: "KeyFilesFuzz", dependencies: ["KeyFiles", "PinWire", "SeededRandom"],
            path: "Tests/Fuzz/KeyFiles"
        ),
        .executableTarget(
            name: "FoldBenchmark",
            dependencies: [
                "EventStore", "PinWire", "Pinning", "Postgres", "TransparencyLog",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Benchmarks/Fold"
        ),
        .executableTarget(
            name: "AccessBench", dependencies: ["PinWire", "Pinning"], path: "Tests/Benchmarks/Access"),
        .executableTarget(
            name: "ClientBench",
            dependencies: ["PinWire", "PinledgerClient", .product(name: "Crypto", package: "swift-crypto")],
            path: "Tests/Benchmarks/Client"),
        // The works whose instructions `make cost` counts.
        .executableTarget(
            name: "CostMeter",
            dependencies: [
                "ClientFormats", "EventStore", "Keys", "PinWire", "Pinning", "PinledgerClient", "PinledgerServer",
                "Postgres", "Probing", "Publishing", "Secrets", "Signals", "TransparencyLog",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Tests/Cost/Meter"
        ),
        .executableTarget(name: "EvaluateBench", dependencies: ["PinWire"], path: "Tests/Benchmarks/Evaluate"),
        .executableTarget(
            name: "ProbeBench", dependencies: ["Addresses", "PinWire", "Probing"], path: "Tests/Benchmarks/Probe"),
    ]
}

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]
// The project is built and tested on Linux. Elsewhere a new compiler's warning is no reason to build nothing.
#if os(Linux)
    settings.append(.treatAllWarnings(as: .error))
#endif
for target in package.targets where target.type != .system && target.type != .plugin {
    target.swiftSettings = settings + (target.swiftSettings ?? [])
}

// The tests compute for minutes in these. Without the optimizer, most of that time goes into looking up generic types.
// Assertions stay. A package that takes this one from a repository gets no such flags, which SwiftPM would refuse.
if !Context.packageDirectory.contains("/checkouts/") {
    let computing: Set = ["PinWire", "TransparencyLog"]
    for target in package.targets where computing.contains(target.name) {
        target.swiftSettings =
            (target.swiftSettings ?? []) + [
                .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
            ]
    }
}
