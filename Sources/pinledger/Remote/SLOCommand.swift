import ArgumentParser
import Exposition
import Foundation
import PinWire

/// Shows whether nodes do what is promised of them.
struct SLOCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slo",
        abstract: "Show the service levels: what nodes do for clients and operators, beside what is promised.",
        discussion: """
            pinledger slo
            pinledger slo http://10.0.0.5:9440 http://10.0.0.6:9440 --over 300

            The figures are those of /metrics, since each node started; with --over, only of the seconds from now on. Without an \
            address it asks --server, which needs a token that may read metrics; with addresses of --metrics-listen, all nodes \
            together, of which one that does not answer does not serve. With --exit-code the command ends with 1 if a promise is not kept.
            """)

    @Argument(help: ArgumentHelp("Addresses of --metrics-listen of all nodes.", valueName: "url"))
    var nodes: [String] = []

    @Option(help: ArgumentHelp("Measure for this long, and not since the nodes started.", valueName: "seconds"))
    var over: Int?

    @Flag(help: "Exit with 1 if a promise is not kept.") var exitCode = false
    @OptionGroup var remote: RemoteOptions

    func validate() throws {
        guard (self.over ?? 1) > 0 else { throw ValidationError("--over takes a number of seconds above 0") }
    }

    func run() async throws {
        let places = try self.places()
        var first: [MetricReading?]?
        if let over {
            first = try await self.read(places)
            try await Task.sleep(for: .seconds(over))
        }
        let last = try await self.read(places)
        let answered = last.enumerated().compactMap { index, last in last.map { (first: first?[index], last: $0) } }
        let levels = ServiceLevels(of: answered, missing: last.count - answered.count)
        if self.remote.output.isTable {
            self.show(levels)
        } else {
            Console.print(
                ["levels": .array(levels.levels.map(\.json)), "kept": .bool(levels.areKept)], self.remote.output)
        }
        if self.exitCode, !levels.areKept { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    /// The most bytes of a scrape.
    private static let limit = 4 << 20

    /// Whom to ask. What an address of --metrics-listen shows needs no token, and gets none.
    private func places() throws -> [ServerContext] {
        guard !self.nodes.isEmpty else { return [try self.remote.serverContext()] }
        let trust = ServerTrust(caFile: self.remote.place.caFile)
        return self.nodes.map { ServerContext(server: $0, token: nil, trust: trust) }
    }

    /// The scrapes; nil for a node that does not answer, where several are asked.
    private func read(_ places: [ServerContext]) async throws -> [MetricReading?] {
        var readings: [MetricReading?] = []
        for place in places {
            do {
                readings.append(try await APIClient.with(place) { try await Self.read($0) })
            } catch let failure as CommandFailure where places.count > 1 && failure.status == .unreachable {
                Console.error("pinledger: \(failure.message)")
                readings.append(nil)
            }
        }
        return readings
    }

    private static func read(_ client: APIClient) async throws -> MetricReading {
        let answer = try await client.send("GET", "/metrics", headers: [("Accept", "text/plain")], limit: Self.limit)
        try answer.check()
        let reading = MetricReading(answer.body)
        guard !reading[MetricFamily.nodeUse.rawValue].isEmpty else {
            throw CommandFailure(
                "\(client.base)/metrics shows no metrics of Pinledger",
                advice: "Give the operators' address with --server, or those of --metrics-listen as arguments.",
                status: .unreachable)
        }
        return reading
    }

    private func show(_ levels: ServiceLevels) {
        var table = Table(["PROMISE", "OBJECTIVE", "NOW", "OF", "BUDGET LEFT", ""])
        for level in levels.levels {
            table.add([
                level.promise, level.objective.map { Self.percent($0) } ?? "all",
                level.share.map { Self.percent($0) } ?? "-", "\(Int64(level.all))",
                level.budget.map { Self.percent(max($0, -9.99)) } ?? "-", level.isKept ? "kept" : "NOT KEPT",
            ])
        }
        Console.print(table)
    }

    /// A share in hundredths, rounded towards the worse: 99.995 % of promises kept are not all of them.
    private static func percent(_ share: Double) -> String {
        let rounded = (share * 1_000_000).rounded(.down) / 10_000
        return rounded == rounded.rounded() ? "\(Int(rounded)) %" : "\(rounded) %"
    }
}
