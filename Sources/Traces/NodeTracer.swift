package import Tracing

/// The node's tracer, behind the interface of swift-distributed-tracing: begins spans, and reads and writes the header fields of the W3C's
/// Trace Context.
///
/// A trace that another system began is recorded where that one records it, and one that begins here with the probability ``ratio``.
package struct NodeTracer: Tracer {
    /// Where spans go; nil to record none: trace ids are passed on all the same.
    package let queue: SpanQueue?
    /// From 0 to 1.
    package let ratio: Double

    package init(queue: SpanQueue? = nil, ratio: Double = 1) {
        self.queue = queue
        self.ratio = ratio
    }

    package static let parentField = "traceparent"
    package static let stateField = "tracestate"

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> NodeSpan {
        let context = context()
        let parent = context.trace
        let traceID = parent?.traceID ?? .random()
        let isSampled = parent?.isSampled ?? (self.queue != nil && traceID.share < self.ratio)
        let trace = TraceContext(
            traceID: traceID, spanID: .random(), isSampled: isSampled, state: parent?.state ?? "")
        return NodeSpan(
            operationName, trace, parent: parent?.spanID, kind: kind, start: instant().nanosecondsSinceEpoch,
            queue: isSampled ? self.queue : nil, in: context)
    }

    package func startAnySpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> any Tracing.Span {
        self.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID,
            line: line)
    }

    /// The exporter sends what is recorded within a second, and what is left when the node stops.
    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: Self.parentField, from: carrier) else { return }
        context.trace = TraceContext(parent: parent, state: extractor.extract(key: Self.stateField, from: carrier))
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.parent, forKey: Self.parentField, into: &carrier)
        if !trace.state.isEmpty { injector.inject(trace.state, forKey: Self.stateField, into: &carrier) }
    }
}
