import Exposition
import HTTPTypes
import Hummingbird
import NIOPosix
import PinWire
import Pinning

/// What monitoring systems read: `/metrics`.
struct MetricsRoutes: Sendable {
    /// The numbers of this moment. Not called on a cooperative thread.
    let samples: @Sendable () -> MetricSamples

    var routes: [Route] {
        [
            Route(
                "getMetrics", .get, "/metrics", surface: .metrics, access: .everywhere(.readFleet), needsNoLedger: true,
                self.get)
        ]
    }

    private func get(_ exchange: Exchange) async throws -> Response {
        let samples = self.samples
        let format = MetricText(accept: exchange.request.headers[.accept])
        // It reads files of the system, and looks at every app.
        let bytes = try await NIOThreadPool.singleton.runIfActive { format.bytes(of: samples()) }
        return Response(
            status: .ok, headers: [.contentType: format.contentType, .cacheControl: "no-store", .vary: "Accept"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
