import Glibc

/// An IPv4 or IPv6 address, without a scope.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// 4 or 16 bytes in network order.
    package let bytes: [UInt8]

    package var isIPv4: Bool { self.bytes.count == 4 }

    /// Nil unless there are 4 or 16 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Four decimal numbers, or the forms of RFC 4291 section 2.2. Nil for every other spelling, such as `0x7f.1`,
    /// `2130706433`, `010.0.0.1` or one with a scope.
    package init?(_ text: String) {
        guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
        let isIPv4 = !text.utf8.contains(UInt8(ascii: ":"))
        var bytes = [UInt8](repeating: 0, count: isIPv4 ? 4 : 16)
        guard unsafe inet_pton(isIPv4 ? AF_INET : AF_INET6, text, &bytes) == 1 else { return nil }
        self.bytes = bytes
    }

    /// The text in the form of RFC 5952.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard
            unsafe inet_ntop(self.isIPv4 ? AF_INET : AF_INET6, self.bytes, &text, socklen_t(text.count)) != nil
        else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
