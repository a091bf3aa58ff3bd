package import PinWire

/// The key by which sightings of clients are counted, within an app: the version held, the app's own version and the
/// platform.
package struct AdoptionKey: Hashable, Sendable {
    package var held: HeldVersion
    package var release: Release
    /// Nil where the client did not state it.
    package var platform: ClientPlatform?

    /// The app's own version.
    package enum Release: Hashable, Sendable {
        /// The client did not state it.
        case unsaid
        /// A version for which there was no room.
        case other
        case release(AppRelease)

        /// The stored form: empty, `other`, or `2.4.1`.
        package var text: String {
            switch self {
            case .unsaid: ""
            case .other: "other"
            case .release(let release): release.description
            }
        }

        package init(text: String) {
            guard !text.isEmpty else {
                self = .unsaid
                return
            }
            self = (try? AppVersion(text)).map { .release($0.release) } ?? .other
        }
    }

    package init(held: HeldVersion, release: Release = .unsaid, platform: ClientPlatform? = nil) {
        self.held = held
        self.release = release
        self.platform = platform
    }

    /// The same without the parts that clients can invent at will.
    var lumped: AdoptionKey { AdoptionKey(held: self.held, release: .other) }
}

/// The number of sightings.
package struct AdoptionCount: Hashable, Sendable {
    /// Requests for the document.
    package var requests: Int64 = 0
    /// Clients' reports without such a request.
    package var reports: Int64 = 0
    /// How many of both came with an install id.
    package var identified: Int64 = 0

    package init(requests: Int64 = 0, reports: Int64 = 0, identified: Int64 = 0) {
        self.requests = requests
        self.reports = reports
        self.identified = identified
    }

    package var sightings: Int64 { self.requests + self.reports }

    package static func += (left: inout AdoptionCount, right: AdoptionCount) {
        left.requests += right.requests
        left.reports += right.reports
        left.identified += right.identified
    }
}
