import Foundation
import KeyFiles
import Testing

/// What a refused private key leaves behind in this process: nothing.
@Suite(.serialized) struct `The copies made of a private key` {
    /// What has the outline of PKCS#8 in DER, each byte masked, so that it is nowhere in memory as it is. It is larger
    /// than any key, so that freed memory is not soon used again as a whole.
    struct MaskedKey {
        static let mask: UInt8 = 0x55
        let bytes: [UInt8]

        init() {
            let header: [UInt8] = [
                0x30, 0x82, 0xEA, 0x6E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x82, 0xEA, 0x60,
            ]
            self.bytes = header.map { $0 ^ Self.mask } + (0..<60_000).map { _ in UInt8.random(in: .min ... .max) }
        }

        /// The key in base64, written without ever having it in the clear.
        func base64(before: String, after: String) -> [UInt8] {
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
            var text: [UInt8] = []
            text.reserveCapacity(100_000)
            text += Array(before.utf8)
            for start in stride(from: 0, to: self.bytes.count, by: 3) {
                let group = self.bytes[start...].prefix(3).reduce(0) { $0 << 8 | Int($1 ^ Self.mask) }
                for shift in [18, 12, 6, 0] { text.append(alphabet[group >> shift & 63]) }
            }
            text += Array(after.utf8)
            return text
        }
    }

    /// A search of this process's memory, which takes no memory itself once it is made, since that would be what was
    /// freed last.
    final class Search {
        private static let length = 24
        private let memory: CInt
        private var areas: [(start: Int, end: Int)] = []
        private var buffer = [UInt8](repeating: 0, count: 1 << 20)

        init() throws {
            self.memory = open("/proc/self/mem", O_RDONLY)
            try #require(self.memory >= 0)
            for line in try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n") {
                let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { Int($0, radix: 16) }
                if line.contains(" rw"), bounds.count == 2 { self.areas.append((bounds[0], bounds[1])) }
            }
        }

        deinit {
            close(self.memory)
        }

        /// How many pieces of the key there are.
        func pieces(of key: MaskedKey) -> Int {
            var count = 0
            for index in self.areas.indices {
                let area = self.areas[index]
                var place = area.start
                while place < area.end {
                    let read = pread(self.memory, &self.buffer, min(self.buffer.count, area.end - place), off_t(place))
                    // Other tests give memory back meanwhile: what lies behind the hole is still there.
                    guard read > 0 else {
                        place += 4096
                        continue
                    }
                    for offset in stride(from: 5000, to: 60_000, by: 5000) {
                        count += self.count(of: key, at: offset, amongFirst: read)
                    }
                    // Overlapping, so that no piece lies across a border.
                    place += read > Self.length ? read - Self.length : read
                }
            }
            return count
        }

        private func count(of key: MaskedKey, at offset: Int, amongFirst size: Int) -> Int {
            self.buffer.withUnsafeBytes { buffer in
                guard let start = buffer.baseAddress else { return 0 }
                var count = 0
                var at = 0
                let end = size - Self.length
                while at < end, let found = memchr(start + at, CInt(key.bytes[offset] ^ MaskedKey.mask), end - at) {
                    at = UnsafeRawPointer(found) - start
                    var matched = 1
                    while matched < Self.length, buffer[at + matched] ^ MaskedKey.mask == key.bytes[offset + matched] {
                        matched += 1
                    }
                    if matched == Self.length { count += 1 }
                    at += 1
                }
                return count
            }
        }
    }

    // Each in a process of its own: beside other tests the memory changes while it is read.

    @Test(
        arguments: [
            ["", ""], ["-----BEGIN CERTIFICATE-----\n", "\n-----END CERTIFICATE-----\n"],
            ["-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----\n"],
        ])
    func `the copies made of a private key are overwritten`(around: [String]) async {
        await #expect(processExitsWith: .success) { [around] in
            let key = MaskedKey()
            var text = key.base64(before: around[0], after: around[1])
            let search = try Search()
            #expect(throws: UploadError.self) { try Upload.read(&text) }
            #expect(text.allSatisfy { $0 == 0 })
            #expect(search.pieces(of: key) == 0)
        }
    }

    @Test func `the copies made of a private key are overwritten on the way from one thread to another`() async {
        await #expect(processExitsWith: .success) {
            let key = MaskedKey()
            let copy = SensitiveUpload(key.base64(before: "", after: ""))
            let search = try Search()
            #expect(throws: UploadError.self) { try copy.read() }
            #expect(copy.contents.allSatisfy { $0 == 0 })
            #expect(search.pieces(of: key) == 0)
        }
    }

    @Test func `the copies made of a private key are overwritten where it came from a file`() async {
        await #expect(processExitsWith: .success) {
            let key = MaskedKey()
            let path = NSTemporaryDirectory() + "wiping-\(UUID().uuidString)"
            defer { unlink(path) }
            var text = key.base64(before: "", after: "")
            let file = open(path, O_WRONLY | O_CREAT, 0o600)
            #expect(write(file, text, text.count) == text.count)
            close(file)
            for index in text.indices { text[index] = 0 }
            let search = try Search()
            let copy = try #require(SensitiveUpload(file: path))
            #expect(throws: UploadError.self) { try copy.read() }
            #expect(copy.contents.count == text.count && copy.contents.allSatisfy { $0 == 0 })
            #expect(search.pieces(of: key) == 0)
            #expect(SensitiveUpload(file: path + "-none") == nil)
        }
    }

    @Test func `copies of a private key that are not overwritten would be found`() async {
        await #expect(processExitsWith: .success) {
            let key = MaskedKey()
            let clear = key.bytes.map { $0 ^ MaskedKey.mask }
            let found = try withExtendedLifetime(clear) { try Search().pieces(of: key) }
            #expect(found > 0)
        }
    }
}
