import Synchronization
package import Tracing

/// A piece of work of this process within a trace, behind the interface of swift-distributed-tracing.
///
/// It is recorded when it ends. One that has not ended when the process dies is lost, and its children name a parent that nobody has.
package final class NodeSpan: Tracing.Span {
    private struct State {
        var name: String
        var attributes: SpanAttributes = [:]
        var status: SpanStatus?
        var events: [SpanEvent] = []
        var isOver = false
    }

    /// What follows in the same task: children of this span.
    package let context: InstrumentationContext
    let trace: TraceContext
    let parent: SpanID?
    let kind: SpanKind
    private let start: UInt64
    /// Nil for a span of a trace that is not recorded.
    let queue: SpanQueue?
    private let state: Mutex<State>

    /// Events of one span that are kept, and attributes.
    private static let (eventLimit, attributeLimit) = (32, 64)

    init(
        _ name: String, _ trace: TraceContext, parent: SpanID?, kind: SpanKind, start: UInt64, queue: SpanQueue?,
        in context: InstrumentationContext
    ) {
        self.trace = trace
        self.parent = parent
        self.kind = kind
        self.start = start
        self.queue = queue
        self.state = Mutex(State(name: name))
        var context = context
        context.trace = trace
        self.context = context
    }

    /// ``context``, in which ``traced(_:_:attributes:_:)`` finds this span.
    package var inner: InstrumentationContext {
        var context = self.context
        context.span = self.isRecording ? self : nil
        return context
    }

    package var isRecording: Bool { self.queue != nil && self.state.withLock { !$0.isOver } }

    /// Whether it belongs to a trace that began before it.
    package var isPart: Bool { self.parent != nil }

    package var operationName: String {
        get { self.state.withLock { $0.name } }
        set { self.state.withLock { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { self.state.withLock { $0.attributes } }
        set { self.state.withLock { if newValue.count <= Self.attributeLimit { $0.attributes = newValue } } }
    }

    package func setStatus(_ status: SpanStatus) { self.state.withLock { $0.status = status } }

    package func addEvent(_ event: SpanEvent) {
        self.state.withLock { if $0.events.count < Self.eventLimit { $0.events.append(event) } }
    }

    /// Records only the type of an error: its text may quote what a trace is not to have.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        self.addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
        self.setStatus(SpanStatus(code: .error))
    }

    /// Links are not kept.
    package func addLink(_ link: SpanLink) {}

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let end = instant().nanosecondsSinceEpoch
        guard let queue, let state = self.over() else { return }
        queue.add(
            FinishedSpan(
                name: state.name, trace: self.trace, parent: self.parent, kind: self.kind, start: self.start,
                // A clock that was set back meanwhile makes no negative durations.
                end: max(end, self.start), attributes: state.attributes, status: state.status, events: state.events))
    }

    /// Ends the span without recording it.
    package func discard() { _ = self.over() }

    /// The state at the end; nil where it is over already.
    private func over() -> State? {
        self.state.withLock { state in
            defer { state.isOver = true }
            return state.isOver ? nil : state
        }
    }
}

/// A span that is over.
package struct FinishedSpan: Sendable {
    package var name: String
    package var trace: TraceContext
    package var parent: SpanID?
    package var kind: SpanKind
    /// Nanoseconds since 1970.
    package var start: UInt64
    package var end: UInt64
    package var attributes: SpanAttributes
    package var status: SpanStatus?
    package var events: [SpanEvent]
}

/// Does a part of a request as a span of its own, where the request is recorded; elsewhere this costs a look at the task's context.
///
/// - Parameter body: Gets the span to add attributes to; nil where nothing is recorded.
package func traced<R, Failure: Error>(
    _ name: String, _ kind: SpanKind = .internal, attributes: @autoclosure () -> SpanAttributes = [:],
    isolation: isolated (any Actor)? = #isolation, _ body: (NodeSpan?) async throws(Failure) -> R
) async throws(Failure) -> R {
    guard let parent = InstrumentationContext.current?.span, let queue = parent.queue else {
        return try await body(nil)
    }
    let trace = TraceContext(
        traceID: parent.trace.traceID, spanID: .random(), isSampled: true, state: parent.trace.state)
    let span = NodeSpan(
        name, trace, parent: parent.trace.spanID, kind: kind, start: DefaultTracerClock.now.nanosecondsSinceEpoch,
        queue: queue, in: parent.context)
    span.attributes = attributes()
    defer { span.end() }
    let result = await span.inner.result { () async throws(Failure) in try await body(span) }
    if case .failure(let error) = result, !(error is CancellationError) { span.recordError(error) }
    return try result.get()
}

extension InstrumentationContext {
    /// What `body` gives, or throws, in this context.
    func result<R, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> R
    ) async -> Result<R, Failure> {
        await Self.withValue(self) {
            do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
        }
    }
}
