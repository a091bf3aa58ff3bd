import HTTPTypes
import NIOCore
import NIOHPACK

/// Blocks of fields as HTTP/2 spells them (RFC 7541), of a kind that neither needs nor changes a dynamic table:
/// the fast path and NIOHTTP2 can write such blocks on one connection without knowing of each other.
enum FieldBlock {
    /// What an answer's block consists of, all but `date`, which comes last.
    static func response(_ response: HTTPResponse) -> ByteBuffer {
        var block = ByteBuffer()
        switch response.status {
        // Both are in the static table.
        case .ok: block.writeInteger(0x88 as UInt8)
        case .notModified: block.writeInteger(0x8B as UInt8)
        default: Self.append(":status", "\(response.status.code)", to: &block)
        }
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        for field in response.headerFields {
            let name = field.name.canonicalName
            do {
                try encoder.beginEncoding(allocator: ByteBufferAllocator())
                try encoder.appendNonIndexed(header: name, value: field.value)
                block.writeImmutableBuffer(try encoder.endEncoding())
            } catch {
                // It throws where it is used out of order alone.
                Self.append(name, field.value, to: &block)
            }
        }
        return block
    }

    /// The field `date`, by its place in the static table.
    static func date(_ value: String) -> [UInt8] { [0x0F, 33 - 15, UInt8(clamping: value.utf8.count)] + value.utf8 }

    /// Fields that have been decoded, in their order and in ASCII; see ``RequestText``.
    static func literal(_ fields: HPACKHeaders) -> ByteBuffer {
        var block = ByteBuffer()
        for (name, value, _) in fields {
            if let field = RequestText.field(name, value) { Self.append(field.name, field.value, to: &block) }
        }
        return block
    }

    private static func append(_ name: String, _ value: String, to block: inout ByteBuffer) {
        block.writeInteger(0 as UInt8)
        for text in [name, value] {
            Self.append(length: text.utf8.count, to: &block)
            block.writeString(text)
        }
    }

    /// An integer with a prefix of seven bits (section 5.1), the eighth saying that no Huffman code follows.
    private static func append(length: Int, to block: inout ByteBuffer) {
        guard length >= 127 else {
            block.writeInteger(UInt8(length))
            return
        }
        block.writeInteger(127 as UInt8)
        var rest = length - 127
        while rest >= 128 {
            block.writeInteger(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        block.writeInteger(UInt8(rest))
    }
}
