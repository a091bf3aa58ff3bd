import Exposition
import HTTPTypes
import Hummingbird
import NIOPosix
import PinWire
import Pinning

/// What monitoring systems read: `/metrics`.
struct MetricsRoutes: Sendable {
    let metrics: NodeMetrics

    var routes: [Route] {
        [
            Route(
                "getMetrics", .get, "/metrics", surface: .metrics, access: .everywhere(.readFleet), needsNoLedger: true,
                self.get)
        ]
    }

    private func get(_ exchange: Exchange) async throws -> Response {
        let metrics = self.metrics
        let format = MetricText(accept: exchange.request.headers[.accept])
        // It reads files of the system, and looks at every app.
        let bytes = try await NIOThreadPool.singleton.runIfActive { format.bytes(of: metrics.samples()) }
        return Response(
            status: .ok, headers: [.contentType: format.contentType, .cacheControl: "no-store", .vary: "Accept"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
