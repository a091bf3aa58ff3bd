import Addresses
import HTTPTypes
import NIOCore
import PinWire
import Pinning
import Probing

/// Notes answered requests in the access log.
struct RequestNotes: Sendable {
    let log: AccessLog
    /// The addresses of proxies whose statement of clients' addresses is trusted.
    let trustedProxies: TrustedProxies
    let clock: @Sendable () -> Timestamp

    /// Notes what was answered from prepared bytes.
    ///
    /// - Parameters:
    ///   - target: A request target whose answer is the same for all: it holds no secret.
    ///   - forwardedFor: The value of `X-Forwarded-For`.
    func notePrepared(
        _ method: String, _ target: String, _ variant: PreparedAnswer.Variant, peer: SocketAddress?,
        forwardedFor: String?
    ) {
        guard let peer = peer.flatMap({ IPAddress($0) }) else { return }
        let path = target.prefix { $0 != "?" }
        self.log.note(
            AccessEntry(
                time: self.clock(),
                address: ClientAddress.of(
                    peer: peer, forwardedFor: forwardedFor, trusted: self.trustedProxies.networks),
                method: method, path: String(path), status: variant.response.status.code,
                bytes: method == "HEAD" ? 0 : variant.body?.readableBytes ?? 0))
    }

    /// Notes a stream of an app's documents that was begun without the router.
    func noteStream(of app: String, peer: SocketAddress?, forwardedFor: String?) {
        guard let peer = peer.flatMap({ IPAddress($0) }) else { return }
        self.log.note(
            AccessEntry(
                time: self.clock(),
                address: ClientAddress.of(
                    peer: peer, forwardedFor: forwardedFor, trusted: self.trustedProxies.networks),
                method: "GET", path: "/client/v1/apps/\(app)/stream", operation: "streamDocument", status: 200))
    }

    /// Notes a request that was refused before anything could read it: who sent it is the other end of the connection.
    func noteUnreadable(_ problem: Problem, _ requestID: String, peer: IPAddress) {
        self.log.note(
            AccessEntry(
                time: self.clock(), address: peer, method: "-", path: "-", status: problem.type.entry.status.code,
                requestID: requestID))
    }
}
