package import Addresses
import Glibc
import NIOCore

/// The system's resolver: `/etc/hosts`, DNS, and the machine's other configured sources.
package enum SystemLookUp {
    /// The A and AAAA addresses of a name; blocks.
    ///
    /// A number in any spelling is not a name. ``ProbeTarget/init(_:startTLS:serverName:)`` has decided which targets
    /// are names; this check is for other callers.
    package static func addresses(of name: String) throws(ResolutionFailure) -> [IPAddress] {
        try self.addresses(of: name, flags: 0)
    }

    /// The same without those of a family that this machine has no address of.
    package static func usableAddresses(of name: String) throws(ResolutionFailure) -> [IPAddress] {
        try self.addresses(of: name, flags: CInt(AI_ADDRCONFIG))
    }

    private static func addresses(of name: String, flags: CInt) throws(ResolutionFailure) -> [IPAddress] {
        guard !name.utf8.contains(0), unsafe inet_aton(name, nil) == 0, !name.utf8.contains(UInt8(ascii: ":")) else {
            throw .isAddress
        }
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_flags = flags
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else { throw self.failure(status) }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = unsafe list
        while let entry = unsafe next?.pointee {
            if let address = unsafe self.address(entry) { addresses.append(address) }
            unsafe next = unsafe entry.ai_next
        }
        return addresses
    }

    /// The meaning of a status of getaddrinfo(3) other than 0. Only two of them say something about the name.
    package static func failure(_ status: CInt) -> ResolutionFailure {
        let words = unsafe String(cString: gai_strerror(status))
        let isAnswer = status == EAI_NONAME || status == Self.noData
        return .unresolved(words, isAnswer: isAnswer)
    }

    /// EAI_NODATA, which only GNU's header has: the name exists, and has no address.
    private static let noData: CInt = -5

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let start = unsafe UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch unsafe entry.ai_family {
        case AF_INET:
            return unsafe IPAddress(SocketAddress(start.loadUnaligned(as: sockaddr_in.self)))
        case AF_INET6:
            return unsafe IPAddress(SocketAddress(start.loadUnaligned(as: sockaddr_in6.self)))
        default:
            return nil
        }
    }
}
