import Glibc

/// A client's connection to a server on this machine: one request at a time, with nothing but the system's calls.
final class ExampleClient {
    private let socket: Int32
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    /// The bytes of an answer; 0 before the first one. All have the same number.
    private var length = 0

    init(port: Int) throws {
        self.socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let socket = self.socket
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Works.Unfit("the server is not reached: error \(errno)") }
    }

    /// Sends a request, waits for the answer, and gives the number of its bytes.
    func exchange(_ request: [UInt8], expecting status: Int) throws -> Int {
        guard write(self.socket, request, request.count) == request.count else {
            throw Works.Unfit("the request is not sent: error \(errno)")
        }
        var count = 0
        repeat {
            let more = self.buffer.withUnsafeMutableBytes { buffer in
                read(self.socket, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            guard more > 0 else { throw Works.Unfit("the answer does not end") }
            count += more
        } while count < (self.length > 0 ? self.length : self.lengthOfFirst(count))
        self.length = count
        guard self.buffer[9..<12].reduce(0, { 10 * $0 + Int($1) - 48 }) == status else {
            throw Works.Unfit("the answer is \(String(decoding: self.buffer[..<count], as: UTF8.self))")
        }
        return count
    }

    /// The bytes of an answer of which so many are there: more than those while its head has not ended.
    private func lengthOfFirst(_ count: Int) -> Int {
        let text = String(decoding: self.buffer[..<count], as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return count + 1 }
        let head = text[..<end.lowerBound]
        let field = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let body = field.flatMap { Int($0.drop { $0 != ":" }.dropFirst().trimmingPrefix(" ")) } ?? 0
        return head.utf8.count + 4 + body
    }
}
