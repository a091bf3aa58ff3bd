import PinWire
import Pinning
import Testing

/// What each kind sees of each host.
@Suite struct `The matrix of clients` {
    private static func matrix(_ app: ClientApp, _ kinds: [ClientKind: ClientSettings]) throws -> ClientMatrix {
        ClientMatrix(kinds, view: try app.view()) { publicSuffixes.contains($0) }
    }

    @Test func `the matrix of clients shows a well-made app as it is stated`() throws {
        let all = Dictionary(ClientKind.allCases.map { ($0, ClientSettings.plain) }) { first, _ in first }
        let matrix = try Self.matrix(ClientApp.clean, all)
        #expect(matrix.columns.map(\.kind) == ClientKind.allCases.sorted())
        #expect(matrix.rows.map(\.host) == [api])
        #expect(matrix.rows[0].cells.map(\.kind) == ClientKind.allCases.sorted())
        #expect(
            matrix.rows[0].cells.allSatisfy { $0.behaviour == .asStated && $0.severity == nil && $0.limits.isEmpty })
    }

    @Test(arguments: clientCases) func `the matrix of clients shows every limit above a notice`(line: ClientCase) throws
    {
        let view = try line.app.view()
        let matrix = ClientMatrix([line.kind: line.settings], view: view) { line.suffixes.contains($0) }
        let cells = matrix.rows.map { $0.cells[0] }.filter { $0.limits.contains(line.limit) }
        let isOff = line.app.events.contains { if case .hostAdded(_, _, .off) = $0 { true } else { false } }
        // What concerns the kind as a whole is not held against hosts that are off.
        #expect(!cells.isEmpty || line.limit == .emptyList && isOff)
        #expect(cells.allSatisfy { $0.behaviour != .asStated && ($0.severity ?? .notice) >= line.severity })
    }

    @Test(arguments: [
        (ClientKind.curl, ClientApp.subtree, ClientMatrix.Behaviour.differs), (.appleATS, .subtree, .differs),
        (.androidNSC, .subtree, .asStated), (.curl, .wildcard, .notExpressible), (.netkit, .wildcard, .differs),
        (.okhttp, .wildcard, .asStated),
        // What cannot be told "off" goes on; a file leaves the host out, which installs that are out there have not.
        (.dynapins, .killed, .notExpressible), (.dynapins, .off, .notExpressible), (.curl, .killed, .differs),
        (.netkit, .killed, .asStated), (.curl, .reporting, .notExpressible), (.muejam, .reporting, .notExpressible),
        (.trustkitIOS, .reporting, .asStated), (.muejam, .builtin, .notExpressible), (.curl, .builtin, .asStated),
        (.curl, .besideAuthority, .differs), (.okhttp, .trial, .differs), (.dynapins, .ending, .differs),
    ])
    func `the matrix of clients tells a deviation from an unsupported setting`(
        kind: ClientKind, app: ClientApp, behaviour: ClientMatrix.Behaviour
    ) throws {
        let behaviours = try Self.matrix(app, [kind: .plain]).rows.map { $0.cells[0].behaviour }
        #expect(Set(behaviours) == [behaviour])
    }

    @Test func `the matrix of clients is shown with its findings`() throws {
        let app = ClientApp(hosting(Keyed(leaf(1))))
        let matrix = try Self.matrix(app, [.trustkitIOS: .plain, .okhttp: .plain])
        let finding = try #require(matrix.columns.last?.findings.first)
        #expect(
            matrix.json == [
                "app": "com.example.shop",
                "version": .integer(matrix.version),
                "clients": [
                    [
                        "client": "okhttp", "title": "OkHttp 4.3 and later", "served": false, "findings": [],
                        "findings_total": 0,
                    ],
                    [
                        "client": "trustkit_ios", "title": "TrustKit for iOS", "served": false,
                        "findings": [finding.json], "findings_total": 1,
                    ],
                ],
                "hosts": [
                    [
                        "host": "api.example.com",
                        "clients": [
                            ["client": "okhttp", "sees": "as_stated", "limits": []],
                            [
                                "client": "trustkit_ios", "sees": "differs", "severity": "breaks",
                                "limits": ["single_pin"],
                            ],
                        ],
                    ]
                ],
            ])
        #expect(matrix.version > 0)
        #expect(
            finding.json["limit"] == "single_pin" && finding.json["client"] == "trustkit_ios"
                && finding.json["host"] == "api.example.com" && finding.json["severity"] == "breaks")
    }
}
