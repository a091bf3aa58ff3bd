import Exposition
import PinledgerServer
import TraceExport
import Traces

// What tells others of the node's requests.

extension Node {
    /// Opens the access log; nil where none is asked for.
    func openAccessLog(_ metrics: MetricRegistry) throws -> AccessLog? {
        guard let path = self.configuration.accessLog else { return nil }
        do throws(AccessLog.Unusable) {
            return try AccessLog(
                path: path, form: self.configuration.logFormat, metrics: metrics, logger: self.logger)
        } catch {
            throw CommandFailure(error.description, advice: error.advice)
        }
    }

    /// What places requests in traces, and records them where there is a collector.
    func tracer(_ metrics: MetricRegistry) -> NodeTracer {
        guard let traces = self.configuration.traces else { return NodeTracer() }
        return NodeTracer(queue: SpanQueue(metrics: metrics), ratio: traces.ratio)
    }

    /// What sends the tracer's spans; nil where there is no collector.
    func exporter(of tracer: NodeTracer) -> SpanExporter? {
        guard let queue = tracer.queue, let traces = self.configuration.traces else { return nil }
        return SpanExporter(
            of: queue, to: traces.destination, node: Self.name, service: "pinledger", version: Version.text,
            logger: self.logger)
    }
}
