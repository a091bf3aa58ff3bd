package import PinWire

/// How long in advance dates are announced: the expiry ladder of guard rail G23.
package struct Horizons: Hashable, Sendable {
    /// Days, the most first; 1 to ``limit`` of them, each from 1 to ``longest``.
    package let days: [Int64]

    /// The default: 30, 14, 7 and 1 days.
    package static let standard = Horizons(ordered: [30, 14, 7, 1])
    package static let limit = 10
    package static let longest: Int64 = 730

    private static let day: Int64 = 86_400
    /// Certificates with a shorter life are announced by their own measure: 60 days.
    private static let shortLife: Int64 = 60 * day
    /// Nothing is urgent longer than a week before.
    private static let urgent: Int64 = 7 * day

    /// Why a text is not a list of horizons.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    private init(ordered days: [Int64]) { self.days = days }

    /// Reads a list such as `30,14,7,1`, in any order.
    package init(_ text: String) throws(Malformed) {
        var days: Set<Int64> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let digits = part.filter { $0 != " " }
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(digits),
                (1...Self.longest).contains(number)
            else { throw Malformed(description: "must be days from 1 to \(Self.longest), separated by commas") }
            days.insert(number)
        }
        guard days.count <= Self.limit else { throw Malformed(description: "may list at most \(Self.limit) days") }
        self.days = days.sorted(by: >)
    }

    /// How many seconds before its end it is announced, the earliest first.
    ///
    /// A life of less than sixty days is announced at its half first; longer horizons do not apply to it, because they
    /// would announce the end of a certificate that was just renewed.
    ///
    /// - Parameter life: Its whole life, in seconds; nil where it is unknown.
    package func leads(life: Int64? = nil) -> [Int64] {
        let all = self.days.map { $0 * Self.day }
        guard let life, life < Self.shortLife else { return all }
        let half = max(0, life) / 2
        return [half] + all.filter { $0 < half }
    }

    /// Whether its end is so near that it does not wait for the next working day: a week before, and for a life of less
    /// than four weeks at its last quarter.
    package static func isUrgent(_ end: Timestamp, life: Int64? = nil, at now: Timestamp) -> Bool {
        end <= now.adding(seconds: min(Self.urgent, life.map { max(0, $0) / 4 } ?? Self.urgent))
    }
}
