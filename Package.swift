// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "pinledger",
    // The client-side targets also compile for Apple's systems, where Crypto is CryptoKit.
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "pinledger", targets: ["pinledger"]),
        .library(name: "PinWire", targets: ["PinWire"]),
    ],
    traits: [
        .trait(name: "Geo", description: "Looks up the countries of addresses, through libmaxminddb."),
        .default(enabledTraits: []),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // C libraries, as Debian packages them.
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlienc", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CPublicSuffix", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        // Without pkgConfig: a build without the trait needs nothing of it, and is not to be warned that it is missing.
        .systemLibrary(name: "CMaxMind", providers: [.apt(["libmaxminddb-dev"])]),

        // Pure: no I/O, no clock.
        .target(name: "PinWire", dependencies: [.product(name: "Crypto", package: "swift-crypto")]),
        .target(name: "TransparencyLog", dependencies: [.product(name: "Crypto", package: "swift-crypto")]),
        .target(name: "Pinning", dependencies: ["Detection", "PinWire"]),
        .target(name: "Detection"),
        // What deployed clients are served, in their own formats.
        .target(name: "Formats", dependencies: ["PinWire", "Pinning"]),

        // One C library each, behind Swift values.
        .target(name: "Certificates", dependencies: ["COpenSSL", "PinWire"], swiftSettings: [.strictMemorySafety()]),
        .target(
            name: "Probing",
            dependencies: [
                "COpenSSL", "PinWire",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: [.strictMemorySafety()]
        ),
        .target(
            name: "Keys", dependencies: ["COpenSSL", "CSodium", "PinWire"], swiftSettings: [.strictMemorySafety()]),
        .target(name: "Postgres", dependencies: ["CPostgres", "PinWire"], swiftSettings: [.strictMemorySafety()]),
        .target(
            name: "Countries", dependencies: [.target(name: "CMaxMind", condition: .when(traits: ["Geo"]))],
            swiftSettings: [.strictMemorySafety()]
        ),
        .target(name: "PublicSuffixes", dependencies: ["CPublicSuffix"], swiftSettings: [.strictMemorySafety()]),

        .target(
            name: "Observing",
            dependencies: [
                "Certificates", "EventStore", "PinWire", "Pinning", "Postgres", "Probing",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),

        // The ledger, and what is made from it.
        .target(
            name: "EventStore",
            dependencies: [
                "PinWire", "Pinning", "Postgres", "TransparencyLog", .product(name: "Logging", package: "swift-log"),
            ],
            // db/migrations, so that one program file can migrate a database.
            resources: [.embedInCode("Migrations")]
        ),
        .target(
            name: "Publishing",
            dependencies: [
                "CBrotli", "CZlib", "EventStore", "Keys", "PinWire", "Pinning", "Postgres", "Vault",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // Secrets that the database keeps sealed.
        .target(name: "Vault", dependencies: ["Keys", "Postgres"]),
        // What clients report of their connections.
        .target(
            name: "Telemetry",
            dependencies: [
                "Keys", "PinWire", "Pinning", "Postgres", "Vault", .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // What keeps Firebase projects in step with the ledger.
        .target(
            name: "Firebase",
            dependencies: [
                "Formats", "Keys", "PinWire", "Pinning", "Webhooks",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .target(
            name: "Webhooks",
            dependencies: [
                "EventStore", "Keys", "PinWire", "Pinning", "Postgres", "Vault",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        .target(
            name: "PinledgerServer",
            dependencies: [
                "CMalloc", "CZlib", "Certificates", "Countries", "EventStore", "Firebase", "Formats", "Handbook",
                "Keys", "Observing",
                "PinWire",
                "Pinning",
                "Postgres", "Probing",
                "Publishing", "Telemetry", "Vault", "Webhooks",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        // A system call that Swift cannot make.
        .target(name: "CProcess"),
        // openapi/openapi.yaml, which the server shows, and the guard rails' pages.
        .target(name: "CHandbook", exclude: ["client-integration.md", "openapi.yaml", "guard-rails.md"]),
        .target(name: "Handbook", dependencies: ["CHandbook"], swiftSettings: [.strictMemorySafety()]),
        .executableTarget(
            name: "pinledger",
            dependencies: [
                "CProcess", "Certificates", "Countries", "EventStore", "Firebase", "Formats", "Keys", "Observing",
                "PinWire",
                "Pinning", "PinledgerServer", "Postgres", "Probing", "Publishing", "PublicSuffixes", "Telemetry",
                "TransparencyLog", "Vault", "Webhooks",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]
        ),

        // Tests, and what benchmarks run.
        .executableTarget(
            name: "AppendBench",
            dependencies: [
                "EventStore", "PinWire", "Pinning", "Postgres", .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Benchmarks/Append"
        ),
        .executableTarget(
            name: "DetectorSimulation", dependencies: ["Detection", "SeededRandom"], path: "Tests/Simulation"),
        .executableTarget(
            name: "CertificatesFuzz", dependencies: ["Certificates", "PinWire", "SeededRandom"],
            path: "Tests/Fuzz/Certificates"
        ),
        .target(name: "SeededRandom", path: "Tests/SeededRandom"),
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
            dependencies: ["EventStore", "PinWire", "Pinning", "Postgres", "SeededRandom", "TransparencyLog"],
            path: "Tests/Benchmarks/LedgerLoad"
        ),
        .executableTarget(
            name: "FoldBenchmark",
            dependencies: [
                "EventStore", "PinWire", "Pinning", "Postgres", "TransparencyLog",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Benchmarks/Fold"
        ),
        .executableTarget(name: "EvaluateBench", dependencies: ["PinWire"], path: "Tests/Benchmarks/Evaluate"),
        .executableTarget(name: "ProbeBench", dependencies: ["PinWire", "Probing"], path: "Tests/Benchmarks/Probe"),
        .testTarget(
            name: "EventStoreTests",
            dependencies: [
                "EventStore", "Fixtures", "PinWire", "Pinning", "Postgres", "TransparencyLog",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "EventStore", "Firebase", "Formats", "Keys", "PinWire", "Pinning", "PinledgerServer", "Postgres",
                "Publishing",
                "PublicSuffixes", "TransparencyLog", "Vault", "Webhooks", "pinledger",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        .testTarget(name: "CertificatesTests", dependencies: ["Certificates", "PinWire"], exclude: ["Vectors"]),
        .testTarget(
            name: "ProbingTests",
            dependencies: [
                "Fixtures", "Probing", "PinWire",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "ObservingTests",
            dependencies: [
                "EventStore", "Fixtures", "Observing", "PinWire", "Pinning", "Postgres", "Probing",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "DetectionTests", dependencies: ["Detection", "PinWire", "Pinning", "SeededRandom"],
            exclude: ["Vectors"]
        ),
        .testTarget(
            name: "FormatsTests",
            dependencies: [
                "ClientLiterals", "Formats", "PinWire", "Pinning", .product(name: "Crypto", package: "swift-crypto"),
            ]
        ),
        .testTarget(name: "FirebaseTests", dependencies: ["Firebase", "Formats", "Keys", "PinWire", "Pinning"]),
        .testTarget(name: "KeysTests", dependencies: ["COpenSSL", "Keys", "PinWire"]),
        .testTarget(name: "PinWireTests", dependencies: ["PinWire", "SeededRandom"], exclude: ["Golden", "Vectors"]),
        .testTarget(
            name: "PinningTests", dependencies: ["ClientLiterals", "PinWire", "Pinning", "SeededRandom"],
            exclude: ["Golden"]
        ),
        .testTarget(
            name: "PinledgerServerTests",
            dependencies: [
                "CZlib", "Certificates", "EventStore", "Fixtures", "Formats", "Keys", "Observing", "PinWire", "Pinning",
                "PinledgerServer", "Postgres", "Probing", "Publishing", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Yams", package: "Yams"),
            ]
        ),
        .testTarget(
            name: "HostileInputTests",
            dependencies: [
                "Certificates", "EventStore", "Firebase", "Formats", "Keys", "PinWire", "Pinning", "PinledgerServer",
                "Postgres", "Probing", "Publishing", "SeededRandom", "Telemetry", "TransparencyLog", "Webhooks",
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
                "CZlib", "EventStore", "Fixtures", "Keys", "PinWire", "Pinning", "Postgres", "Publishing",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "TelemetryTests",
            dependencies: [
                "EventStore", "Fixtures", "Keys", "PinWire", "Pinning", "Postgres", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(name: "PublicSuffixesTests", dependencies: ["PublicSuffixes"]),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "EventStore", "Fixtures", "Keys", "PinWire", "Pinning", "Postgres", "Probing", "Webhooks",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "TransparencyLogTests",
            dependencies: ["TransparencyLog", .product(name: "Crypto", package: "swift-crypto")],
            exclude: ["Vectors"]
        ),
    ]
)

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]
for target in package.targets where target.type != .system {
    target.swiftSettings = settings + (target.swiftSettings ?? [])
}
