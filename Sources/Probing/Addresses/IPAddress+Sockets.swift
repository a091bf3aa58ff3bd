package import Addresses
package import NIOCore

extension IPAddress {
    /// The address of a socket; nil for one of a path.
    package init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(text)
    }

    /// The socket address of `port` at this address.
    package func socketAddress(port: Int) throws -> SocketAddress {
        try SocketAddress(packedIPAddress: ByteBuffer(bytes: self.bytes), port: port)
    }
}
