import Foundation
import Glibc
import Probing

/// A host on loopback that does with each connection what a closure says, on a thread of the connection's own.
final class SocketHost: Sendable {
    let port: Int
    private let listener: Int32

    init(_ behaviour: @escaping @Sendable (Connection) -> Void) throws {
        // A host that writes to a connection that was closed gets an error, not a signal.
        signal(SIGPIPE, SIG_IGN)
        self.listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = self.listener
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) + listen(listener, 64) + getsockname(listener, $0, &length)
            }
        }
        guard status == 0 else { throw POSIXError(.EADDRINUSE) }
        self.port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread {
            // Shutting the listener down ends this.
            while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
                Thread.detachNewThread {
                    behaviour(Connection(descriptor: descriptor))
                    Glibc.close(descriptor)
                }
            }
            Glibc.close(listener)
        }
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
    }

    func target(_ startTLS: StartTLS? = nil) throws -> ProbeTarget {
        try ProbeTarget("probe.test:\(self.port)", startTLS: startTLS)
    }

    /// The host's side of one connection.
    struct Connection {
        let descriptor: Int32

        /// False once the other side is gone.
        @discardableResult
        func send(_ bytes: [UInt8]) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(self.descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }

        @discardableResult
        func send(_ text: String) -> Bool { self.send(Array(text.utf8)) }

        /// What arrives next; empty at the end.
        func receive(_ maximum: Int = 16 * 1024) -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: maximum)
            let count = read(self.descriptor, &buffer, maximum)
            return Array(buffer.prefix(max(0, count)))
        }

        /// Everything up to that text.
        @discardableResult
        func receive(until end: String) -> String {
            var text: [UInt8] = []
            while !String(decoding: text, as: UTF8.self).hasSuffix(end), case let byte = self.receive(1), !byte.isEmpty
            {
                text += byte
            }
            return String(decoding: text, as: UTF8.self)
        }

        /// Says nothing until the other side goes.
        func hang() {
            while !self.receive().isEmpty {}
        }

        /// Ends with RST instead of FIN.
        func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(
                self.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }

        /// Passes everything on, both ways, until one side ends.
        func relay(to port: Int) {
            let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { Glibc.close(other) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            address.sin_port = UInt16(port).bigEndian
            let status = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(other, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard status == 0 else { return }
            let back = Connection(descriptor: other)
            while true {
                var states = [self, back].map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
                guard poll(&states, 2, -1) > 0 else { return }
                for (state, way) in zip(states, [(self, back), (back, self)]) where state.revents != 0 {
                    let bytes = way.0.receive()
                    guard !bytes.isEmpty, way.1.send(bytes) else { return }
                }
            }
        }
    }
}
