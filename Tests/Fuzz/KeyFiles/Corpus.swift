import Foundation
import PinWire
import SeededRandom

/// The uploads that inputs are made from, and how these are made.
struct Corpus {
    /// The corpora of every folder in the given one, in the order of their names.
    let files: [(name: String, bytes: [UInt8])]

    private static let labels = [
        "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE REQUEST",
        "PKCS7", "X509 CRL", "EC PARAMETERS", "PRIVATE KEY", "CMS", "",
    ]

    init(folder: URL) throws {
        let manager = FileManager.default
        var files: [(name: String, bytes: [UInt8])] = []
        for part in ["odd", "refused", "seeds"] {
            let inner = folder.appending(path: part)
            for name in try manager.contentsOfDirectory(atPath: inner.path).sorted() {
                files.append(("\(part)/\(name)", Array(try Data(contentsOf: inner.appending(path: name)))))
            }
        }
        guard !files.isEmpty else { throw Failure("\(folder.path) has no files") }
        self.files = files
    }

    /// The input number `index`, which follows from it and the seed alone.
    func input(_ index: Int, seed: UInt64) -> [UInt8] {
        var random = SeededGenerator(seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index))
        let file = self.files.randomElement(using: &random)?.bytes ?? []
        switch UInt8.random(in: 0..<10, using: &random) {
        case 0..<5: return self.damage(file, &random)
        // Below PEM, so that what is damaged is DER that is read.
        case 5..<8:
            var text: [UInt8] = []
            for var der in Self.ders(of: file) {
                if Bool.random(using: &random) { der = self.damage(der, &random) }
                text += Self.armoured(der, Self.labels.randomElement(using: &random) ?? "", &random)
            }
            return UInt8.random(in: 0..<4, using: &random) == 0 ? self.damage(text, &random) : text
        // Two of them, one after the other.
        case 8: return file + self.damage(self.files.randomElement(using: &random)?.bytes ?? [], &random)
        default: return Array(Base64.encode(self.damage(Self.ders(of: file).first ?? file, &random)).utf8)
        }
    }

    /// Changes `bytes` in one to eight places.
    private func damage(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<([1, 1, 1, 2, 4, 8].randomElement(using: &random) ?? 1) {
            guard !bytes.isEmpty else { return [UInt8.random(in: .min ... .max, using: &random)] }
            let place = Int.random(in: 0..<bytes.count, using: &random)
            let length = Int.random(in: 1...32, using: &random)
            let range = place..<min(bytes.count, place + length)
            switch UInt8.random(in: 0..<12, using: &random) {
            case 0, 1, 2: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 3: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF, 0x30, 0x31, 0xA0].randomElement(using: &random) ?? 0
            case 4: bytes.removeLast(bytes.count - place)
            case 5:
                bytes.insert(
                    contentsOf: (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) }, at: place)
            case 6: bytes.removeSubrange(range)
            case 7: bytes.insert(contentsOf: bytes[range], at: place)
            case 8, 9: self.changeLength(of: &bytes, near: place, &random)
            case 10:
                // A piece of another file in place of one of this.
                let other = self.files.randomElement(using: &random)?.bytes ?? []
                let start = Int.random(in: 0...other.count, using: &random)
                bytes.replaceSubrange(range, with: other[start...].prefix(Int.random(in: 0...600, using: &random)))
            default: bytes.swapAt(place, Int.random(in: 0..<bytes.count, using: &random))
            }
        }
        return bytes
    }

    /// Changes the length field of the next thing from `place` on that looks like one of DER.
    private func changeLength(of bytes: inout [UInt8], near place: Int, _ random: inout SeededGenerator) {
        let tags: Set<UInt8> = [0x02, 0x03, 0x04, 0x05, 0x06, 0x0C, 0x13, 0x17, 0x30, 0x31, 0xA0, 0xA3]
        guard let tag = bytes[place...].firstIndex(where: tags.contains), tag + 1 < bytes.count else { return }
        switch UInt8.random(in: 0..<6, using: &random) {
        case 0: bytes[tag + 1] &+= 1
        case 1: bytes[tag + 1] &-= 1
        case 2: bytes[tag + 1] = 0
        case 3: bytes[tag + 1] = 0x80
        case 4: bytes.replaceSubrange((tag + 1)...(tag + 1), with: [0x84, 0x7F, 0xFF, 0xFF, 0xFF])
        default: bytes.replaceSubrange((tag + 1)...(tag + 1), with: [0x82, 0, bytes[tag + 1]])
        }
    }

    /// What is in the PEM blocks of a file, or the file itself if there are none.
    private static func ders(of file: [UInt8]) -> [[UInt8]] {
        let text = String(decoding: file, as: UTF8.self)
        guard text.contains("-----BEGIN") else { return [file] }
        var ders: [[UInt8]] = []
        var digits: String?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("-----BEGIN") {
                digits = ""
            } else if line.hasPrefix("-----END") {
                if let der = digits.flatMap(Base64.decode) { ders.append(der) }
                digits = nil
            } else {
                digits?.append(contentsOf: line)
            }
        }
        return ders
    }

    private static func armoured(_ der: [UInt8], _ label: String, _ random: inout SeededGenerator) -> [UInt8] {
        let digits = Array(Base64.encode(der).utf8)
        let width = [64, 64, 64, 76, 1, 1000].randomElement(using: &random) ?? 64
        var text = Array("-----BEGIN \(label)-----\n".utf8)
        for start in stride(from: 0, to: digits.count, by: width) {
            text += digits[start...].prefix(width) + [UInt8(ascii: "\n")]
        }
        return text + Array("-----END \(label)-----\n".utf8)
    }
}
