import Glibc
package import NIOCore
import NIOPosix
import Synchronization

/// Finds the addresses of names by getaddrinfo(3), on a few threads of its own, because it blocks without a limit.
package final class NameResolver: Sendable {
    /// Names that are being resolved at once; the others wait.
    private static let threadCount = 4
    /// Names that are being resolved or wait for it, abandoned ones included.
    private static let lookUpLimit = 64
    /// Addresses of one name that are tried.
    private static let addressLimit = 8

    private let threads = NIOThreadPool(numberOfThreads: threadCount)
    private let lookUps = Mutex(0)

    package init() {
        self.threads.start()
    }

    /// Ends the threads. Waits for look-ups under way, which nothing can stop.
    package func close() async { try? await self.threads.shutdownGracefully() }

    /// The addresses of a name, or of an address's text, in the system's order.
    ///
    /// - Throws: ``SendFailure/unresolved(_:)``, or ``SendFailure/timedOut``. A look-up that takes longer runs on by
    ///   itself and its result is dropped.
    package func addresses(
        of host: String, port: Int, within limit: TimeAmount, on loop: any EventLoop
    ) async throws(SendFailure) -> [SocketAddress] {
        let isLetIn = self.lookUps.withLock { lookUps in
            guard lookUps < Self.lookUpLimit else { return false }
            lookUps += 1
            return true
        }
        guard isLetIn else { throw .unresolved("too many names are being looked up") }
        let found = loop.makePromise(of: [SocketAddress].self)
        let timer = loop.scheduleTask(in: limit) { found.fail(SendFailure.timedOut) }
        self.threads.submit { state in
            defer { self.lookUps.withLock { $0 -= 1 } }
            guard case .active = state else { return found.fail(SendFailure.stopped) }
            found.completeWith(Result { try Self.lookUp(host, port) })
        }
        do {
            let addresses = try await found.futureResult.get()
            timer.cancel()
            return addresses
        } catch {
            timer.cancel()
            throw error as? SendFailure ?? .unresolved("\(error)")
        }
    }

    private static func lookUp(_ host: String, _ port: Int) throws(SendFailure) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        defer { freeaddrinfo(list) }
        guard status == 0 else { throw .unresolved(String(cString: gai_strerror(status))) }
        var addresses: [SocketAddress] = []
        var next = list
        while let info = next, addresses.count < Self.addressLimit {
            if let address = info.pointee.ai_addr {
                switch info.pointee.ai_family {
                case AF_INET:
                    addresses.append(
                        SocketAddress(address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee }))
                case AF_INET6:
                    addresses.append(
                        SocketAddress(address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee }))
                default: break
                }
            }
            next = info.pointee.ai_next
        }
        guard !addresses.isEmpty else { throw .unresolved("it has no address") }
        return addresses
    }
}
