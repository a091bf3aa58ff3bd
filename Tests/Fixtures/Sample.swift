package import EventStore
import Foundation
package import PinWire
package import Pinning
import Synchronization

/// Values that tests are made of.
package enum Sample {
    package static let actor = Actor(kind: .local, id: "tester", name: "Tester")

    /// An app nobody else has.
    package static func app() throws -> AppID {
        try AppID(TestServer.uniqueName("com.example").replacing("_", with: "."))
    }

    package static func host(_ name: String = "api.example.com") throws -> HostPattern { try HostPattern(name) }

    /// A pin as real ones are: random bytes.
    package static func pin() -> Pin {
        guard let pin = Pin(bytes: (0..<32).map { _ in UInt8.random(in: 0...255) }) else { preconditionFailure() }
        return pin
    }

    /// A primary pin and a backup pin, both active.
    package static func pins() -> [AppCommand.NewPin] {
        [.init(pin: self.pin(), role: .primary), .init(pin: self.pin(), role: .backup)]
    }

    /// A request; its digest is that of the command unless told otherwise.
    package static func request(
        _ command: Command, key: String? = nil, actor: Actor = actor, reason: String? = nil,
        expecting version: Int64? = nil,
        digest: [UInt8]? = nil
    ) throws -> CommandRequest {
        CommandRequest(
            command: command,
            origin: Origin(actor: actor, reason: try reason.map { try Reason($0) }, idempotencyKey: key),
            expectedVersion: version,
            digest: digest ?? sha256(Array("\(command)".utf8)),
            // An import needs only the hash of a backup's key.
            isImport: true
        )
    }

    package static func create(_ app: AppID, key: String? = nil, hosts: Int = 0) throws -> CommandRequest {
        var commands: [AppCommand] = [.create(displayName: "App \(app)")]
        for number in 0..<hosts {
            commands.append(
                .addHost(
                    try self.host("h\(number).example.com"), includesSubdomains: false, mode: .enforce,
                    pins: self.pins()
                )
            )
        }
        return try self.request(.app(app, commands), key: key)
    }

    package static func rename(
        _ app: AppID, _ name: String, key: String? = nil, expecting version: Int64? = nil
    ) throws -> CommandRequest {
        try self.request(.app(app, [.rename(name)]), key: key, expecting: version)
    }
}

/// A clock that goes as it is told.
package final class ManualClock: Sendable {
    private let time: Mutex<Timestamp>

    package init(_ time: Timestamp = .wall) { self.time = Mutex(time) }

    package var now: Timestamp { self.time.withLock { $0 } }

    package func advance(seconds: Int64) { self.time.withLock { $0 = $0.adding(seconds: seconds) } }
}

extension Timestamp {
    /// The time on the wall.
    package static var wall: Timestamp { Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) }
}
