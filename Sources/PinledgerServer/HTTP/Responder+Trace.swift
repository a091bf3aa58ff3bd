import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Traces
import Tracing

/// Reads the fields of the W3C's Trace Context from a request.
private struct TraceFields: Extractor {
    func extract(key: String, from carrier: HTTPFields) -> String? {
        guard let name = HTTPField.Name(key) else { return nil }
        let values = carrier[values: name]
        // Two places in two traces are none (Trace Context, section 3.2.1); several states are one list.
        guard let first = values.first, values.count == 1 || key == NodeTracer.stateField else { return nil }
        return values.count == 1 ? first : values.joined(separator: ",")
    }
}

extension Responder {
    /// Where a request stands in a trace, and the span that is recorded of it.
    struct Place {
        /// For what is done for the request; nil outside of every trace.
        var context: InstrumentationContext?
        /// Nil for clients' requests, which nobody traces: they are too many, and strangers make them.
        var span: NodeSpan?
    }

    /// - Parameter route: A request for a path without an operation has no place.
    func place(of request: Request, _ route: Route, _ requestID: String) -> Place {
        var context = InstrumentationContext.topLevel
        self.tracer.extract(request.headers, into: &context, using: TraceFields())
        let given = context.trace == nil ? nil : context
        guard route.access.needsToken, self.tracer.queue != nil else { return Place(context: given, span: nil) }
        let span = self.tracer.startSpan("\(route.method.rawValue) \(route.path)", context: context, ofKind: .server)
        guard span.isRecording else { return Place(context: given, span: nil) }
        // https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server
        span.attributes = [
            "http.request.method": .string(request.method.rawValue), "http.route": .string(route.path),
            "url.scheme": self.isSecure ? "https" : "http", "pinledger.operation": .string(route.operationID),
            "pinledger.request_id": .string(requestID),
        ]
        return Place(context: span.inner, span: span)
    }

    /// Ends the span of a request.
    ///
    /// - Parameter actor: Nil for a stranger, of whom nothing is recorded: they could fill the queue.
    func end(_ place: Place, status: Int, problem: ProblemType?, actor: Actor?, app: String?) {
        guard let span = place.span else { return }
        guard let actor else { return span.discard() }
        span.updateAttributes { attributes in
            attributes["http.response.status_code"] = status
            attributes["pinledger.actor"] = "\(actor.kind.rawValue):\(actor.id)"
            // Someone may have sent a token in place of a name.
            if let app, status < 400 { attributes["pinledger.app"] = app }
            if let problem { attributes["error.type"] = problem.rawValue }
        }
        // A server's span fails by the server's own mistakes alone.
        if status >= 500 { span.setStatus(.init(code: .error)) }
        span.end()
    }
}
