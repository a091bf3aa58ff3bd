package import PinWire

/// The effect of each kind of client of an app on each of its hosts.
///
/// A cell reflects all findings of its kind, even if only some of them are listed.
package struct ClientMatrix: Hashable, Sendable {
    /// A kind's behaviour towards a host's stated policy.
    package enum Behaviour: String, CaseIterable, Sendable, Hashable {
        /// The same.
        case asStated = "as_stated"
        /// Something else in part, or at times.
        case differs
        /// Something else altogether: the format has no place for the present policy.
        case notExpressible = "not_expressible"
    }

    /// One host for one kind.
    package struct Cell: Hashable, Sendable {
        package var kind: ClientKind
        package var behaviour: Behaviour
        /// The severity of the worst finding; nil where there is none.
        package var severity: ClientFinding.Severity?
        /// The limits that findings name, each once, in order.
        package var limits: [ClientLimit]

        package var json: JSON {
            .members([
                "client": .string(self.kind.rawValue),
                "sees": .string(self.behaviour.rawValue),
                "severity": self.severity.map { .string($0.rawValue) },
                "limits": .array(self.limits.map { .string($0.rawValue) }),
            ])
        }
    }

    /// One host for all kinds, these in order.
    package struct Row: Hashable, Sendable {
        package var host: HostPattern
        package var cells: [Cell]
    }

    /// One kind and its findings.
    package struct Column: Hashable, Sendable {
        package var kind: ClientKind
        /// At most ``ClientLimits/findingLimit``, the worst first.
        package var findings: [ClientFinding]
        /// How many there are.
        package var count: Int
    }

    package let app: AppID
    /// The version of the evaluated document.
    package let version: Int64
    /// In the document's order.
    package let rows: [Row]
    /// In the order of their names.
    package let columns: [Column]

    /// - Parameters:
    ///   - clients: The kinds that the app's installs use.
    ///   - view: The view of a device without known attributes.
    ///   - isPublicSuffix: See ``ClientLimits/findings(for:settings:view:isPublicSuffix:)``.
    package init(
        _ clients: [ClientKind: ClientSettings], view: ClientView, isPublicSuffix: (String) -> Bool
    ) {
        var columns: [Column] = []
        var cells: [[Cell]] = []
        for (kind, settings) in clients.sorted(by: { $0.key < $1.key }) {
            let all = ClientLimits.all(for: kind, settings: settings, view: view, isPublicSuffix: isPublicSuffix)
            columns.append(
                Column(kind: kind, findings: Array(all.prefix(ClientLimits.findingLimit)), count: all.count))
            cells.append(Self.cells(ClientCheck(kind: kind, settings: settings, view: view), all))
        }
        self.app = view.app
        self.version = view.document.version
        self.rows = view.hosts.indices.map { place in
            Row(host: view.hosts[place].pattern, cells: cells.map { $0[place] })
        }
        self.columns = columns
    }

    private static func cells(_ check: ClientCheck, _ findings: [ClientFinding]) -> [Cell] {
        let own = Dictionary(grouping: findings.filter { $0.host != nil }, by: \.host)
        // A finding about the kind as a whole concerns each host that has any requirement.
        let common = findings.filter { $0.host == nil && $0.severity > .notice }
        return check.view.hosts.map { host in
            let found = (own[host.pattern] ?? []) + (host.mode == .off ? [] : common)
            let severity = found.map(\.severity).max()
            let behaviour: Behaviour =
                severity ?? .notice == .notice ? .asStated : check.hasPlace(for: host) ? .differs : .notExpressible
            return Cell(
                kind: check.kind, behaviour: behaviour, severity: severity,
                limits: Set(found.map(\.limit)).sorted { $0.rawValue < $1.rawValue })
        }
    }

    /// The matrix as it is shown.
    package var json: JSON {
        [
            "app": .string(self.app.text),
            "version": .integer(self.version),
            "clients": .array(
                self.columns.map { column in
                    [
                        "client": .string(column.kind.rawValue),
                        "title": .string(column.kind.title),
                        "served": .bool(column.kind.isServed),
                        "findings": .array(column.findings.map(\.json)),
                        "findings_total": .integer(Int64(column.count)),
                    ]
                }),
            "hosts": .array(
                self.rows.map { row in
                    ["host": .string(row.host.text), "clients": .array(row.cells.map(\.json))]
                }),
        ]
    }
}
