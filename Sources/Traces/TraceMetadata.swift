package import Logging
import Tracing

extension Logger.MetadataProvider {
    /// Adds `trace_id` to every line that is logged for a request which is part of a trace.
    package static let trace = Logger.MetadataProvider {
        InstrumentationContext.current?.trace.map { ["trace_id": "\($0.traceID)"] } ?? [:]
    }
}
