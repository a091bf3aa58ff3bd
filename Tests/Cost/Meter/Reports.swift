import Keys
import PinWire
import Pinning
import Signals

extension Works {
    /// A client's batch of twenty reports, read and counted.
    static let reports = [
        Work("reports-taken", count: 100) {
            let app = try ExampleApp(hosts: 5)
            guard let state = app.state.apps[app.id], let version = app.state.documentVersion(of: app.id) else {
                throw Unfit("the app is not there")
            }
            // Salts of a given key: a salt that is drawn would put installs into other places of the sketches each time.
            let salts = DailySalts(try KeyEncryptionKey([UInt8](repeating: 7, count: 32)), for: "installs")
            let intake = TelemetryIntake(salts: salts, rate: 0)
            let address: [UInt8] = [192, 0, 2, 1]
            let origin = TelemetryIntake.Origin(
                app: app.id, hosts: ReportedHosts(state), version: version,
                network: intake.network(of: address, at: ExampleApp.now), bucket: intake.bucket(of: address), seal: nil)
            let bodies = try (0..<200).map { try Self.body(of: app, number: $0, version: version) }
            return { turn in
                let receipt = intake.take(try ReportBatch(parsing: bodies[turn]), from: origin, at: ExampleApp.now)
                guard receipt.taken == 20 else { throw Unfit("reports are not taken: \(receipt)") }
                return receipt.taken
            }
        }
    ]

    private static func body(of app: ExampleApp, number: Int, version: Int64) throws -> [UInt8] {
        guard let install = InstallID(bytes: Array(sha256(Array("install \(number)".utf8)).prefix(16))) else {
            throw Unfit("16 bytes make an id")
        }
        let outcomes = try (0..<20).map { place -> JSON in
            let host = app.hosts[place % app.hosts.count]
            var outcome: [String: JSON] = [
                "host": .string(host.name), "outcome": "success", "id": .string("\(place)"), "count": 3,
                "time": .string(ExampleApp.now.adding(seconds: -60).rfc3339),
            ]
            if place.isMultiple(of: 10) {
                outcome["outcome"] = "failure"
                outcome["reason"] = .string(OutcomeReason.pinMismatch.rawValue)
                outcome["served_pins"] = .array([.string(try ExampleApp.pin(7000 + place).base64)])
            }
            return .object(outcome)
        }
        let body: JSON = [
            "install": .string(install.text), "platform": "ios", "app_version": "3.1.2",
            "document_version": .integer(version), "outcomes": .array(outcomes),
        ]
        return body.canonicalBytes
    }
}
