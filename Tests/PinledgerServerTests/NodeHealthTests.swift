import Exposition
import PinWire
import Synchronization
import Testing

@testable import PinledgerServer

/// What a node says of its own files.
@Suite struct NodeHealthTests {
    private final class Clock: Sendable {
        let seconds = Mutex<Int64>(1_800_000_000)
        var now: Timestamp { Timestamp(microseconds: self.seconds.withLock(\.self) * 1_000_000) }
        func pass(_ seconds: Int64) { self.seconds.withLock { $0 += seconds } }
    }

    private static func said(_ health: NodeHealth) -> [String] {
        var samples = MetricSamples()
        samples.addHealth(health)
        let text = String(decoding: MetricText.prometheus.bytes(of: samples), as: UTF8.self)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
    }

    @Test func `a memory that is not kept counts from the first failure`() {
        let clock = Clock()
        let health = NodeHealth(clock: { clock.now })
        #expect(!Self.said(health).contains { $0.contains("memory") }, "a node without a state directory")
        health.note(isMemoryKept: true)
        #expect(Self.said(health).contains("pinledger_memory_unkept_seconds 0"))
        health.note(isMemoryKept: false)
        clock.pass(40)
        health.note(isMemoryKept: false)
        clock.pass(2)
        #expect(Self.said(health).contains("pinledger_memory_unkept_seconds 42"))
        health.note(isMemoryKept: true)
        #expect(Self.said(health).contains("pinledger_memory_unkept_seconds 0"))
    }

    @Test func `a file that is refused counts until it is taken`() {
        let health = NodeHealth(clock: { Timestamp(microseconds: 0) })
        for file in ["the TLS certificate", "the TLS certificate", "the configuration"] {
            health.note(file, isRefused: true)
        }
        #expect(Self.said(health).contains("pinledger_refused_files 2"))
        health.note("the TLS certificate", isRefused: false)
        health.note("the access log", isRefused: false)
        #expect(Self.said(health).contains("pinledger_refused_files 1"))
    }
}
