// Probes every HOST:PORT of its input, all at once: ProbeBench < TARGETS
//
// Prints one JSON object for each, in the order of the input, and one more for all of them together. Loopback is allowed,
// and so are addresses.
import Addresses
import Glibc
import PinWire
import Probing

var targets: [ProbeTarget] = []
while let line = readLine() { targets.append(try ProbeTarget(line)) }

let policy = AddressPolicy(allowed: [try IPNetwork("127.0.0.0/8"), try IPNetwork("::1")], allowsLiterals: true)
let prober = try await Prober.start(policy: policy)
let clock = ContinuousClock()
let began = clock.now
let reports = await withTaskGroup(of: (Int, ProbeReport).self) { group in
    for (index, target) in targets.enumerated() {
        group.addTask { [prober] in (index, await prober.probe(target)) }
    }
    var reports = targets.map { ProbeReport(target: $0) }
    for await (index, report) in group { reports[index] = report }
    return reports
}
let seconds = (clock.now - began) / .seconds(1)
await prober.close()

for report in reports {
    let failures = report.addresses.compactMap { address -> ProbeFailure? in
        guard case .failed(let failure) = address.outcome else { return nil }
        return failure
    }
    let failure = report.failure ?? failures.first
    let chain = report.chains.first
    let outcome: JSON = [
        "target": .string(report.target.description),
        "outcome": .string(chain == nil ? failure?.kind.rawValue ?? "none" : "served"),
        "reason": .string(failure?.reason ?? ""),
        "chains": .integer(Int64(report.chains.count)),
        "leaf": .string(Base64.encode(chain?.certificates.first ?? [])),
    ]
    print(outcome.canonicalText)
}
var usage = rusage()
getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
func rounded(_ value: Double) -> JSON { .number((value * 1000).rounded() / 1000) }
func inSeconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
let summary: JSON = [
    "targets": .integer(Int64(reports.count)),
    "seconds": rounded(seconds),
    "cpu_seconds": rounded(inSeconds(usage.ru_utime) + inSeconds(usage.ru_stime)),
    "peak_rss_megabytes": rounded(Double(usage.ru_maxrss) * 1024 / 1_000_000),
]
print(summary.canonicalText)
