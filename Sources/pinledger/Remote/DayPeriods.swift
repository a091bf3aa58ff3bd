import PinWire

/// The parts of a day in each of which a device got the same, with what it got.
struct DayPeriods {
    struct Period {
        var since: Timestamp
        var until: Timestamp
        /// The explanation at the beginning of the part.
        var answer: JSON

        var json: JSON {
            ["since": .string(self.since.rfc3339), "until": .string(self.until.rfc3339), "answer": self.answer]
        }
    }

    private(set) var list: [Period] = []
    /// The end of the day, or the present before it.
    let end: Timestamp

    /// More versions in a day are too many to read.
    private static let versionLimit = 100

    /// Asks for each version of the document that stood in the day, and within it at each time that its content names: what holds can
    /// change there without an event, as when a kill switch expires.
    ///
    /// - Parameter explain: The explanation at a time, after so many events.
    init(
        of app: String, in day: Range<Timestamp>, _ client: APIClient,
        _ explain: (String, Int64) async throws -> JSON
    ) async throws {
        let end = min(day.upperBound, Node.clock())
        self.end = end
        let period = [("since", day.lowerBound), ("until", day.upperBound)].map { name, time in
            "\(name)=\(APIClient.escaped(time.rfc3339))"
        }
        let versions = try await DocumentCommands.Versions.list(of: app, period, client)
        guard versions.count <= Self.versionLimit else {
            throw CommandFailure(
                "the document had \(versions.count) versions on this day, more than \(Self.versionLimit)",
                advice: "`pinledger document versions \(app)` lists them. Ask for moments with --at or --event.",
                status: .usage)
        }
        for version in versions {
            guard let position = version["position"]?.integerValue,
                let since = Timestamp(rfc3339: version.text("since"))
            else { continue }
            let begin = max(since, day.lowerBound)
            let stop = Timestamp(rfc3339: version.text("until")).map { min($0, end) } ?? end
            guard begin < stop else { continue }
            let path = "/v1/apps/\(APIClient.escaped(app))/document/content?position=\(position)"
            let named = Self.times(in: try await client.get(path)).filter { begin < $0 && $0 < stop }
            for (from, until) in zip([begin] + named, named + [stop]) {
                self.add(Period(since: from, until: until, answer: try await explain(from.rfc3339, position)))
            }
        }
    }

    /// Adds a period, or makes the one before it longer where nothing differs.
    private mutating func add(_ period: Period) {
        guard let last = self.list.last, last.until == period.since, Self.isSame(last.answer, period.answer) else {
            return self.list.append(period)
        }
        self.list[self.list.count - 1].until = period.until
    }

    private static func isSame(_ answer: JSON, _ other: JSON) -> Bool { answer["hosts"] == other["hosts"] }

    /// The times that a value names, each once and in order.
    private static func times(in value: JSON) -> [Timestamp] {
        func found(_ value: JSON) -> [Timestamp] {
            switch value {
            case .string(let text): Timestamp(rfc3339: text).map { [$0] } ?? []
            case .array(let elements): elements.flatMap(found)
            case .object(let members): members.values.flatMap(found)
            default: []
            }
        }
        return Set(found(value)).sorted()
    }
}
