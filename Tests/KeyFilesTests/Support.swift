import Foundation
import KeyFiles
import PinWire
import Testing

/// The bytes of a file under this folder's `Vectors`.
func vector(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: vectors.appending(path: path)))
}

let vectors = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")

/// The names of the files in a folder of `Vectors`.
func vectorNames(_ folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: vectors.appending(path: folder).path)) ?? []).sorted()
}

/// What an upload of `bytes` holds.
func items(_ bytes: some Sequence<UInt8>, password: String? = nil) throws(UploadError) -> [Upload.Item] {
    var bytes = Array(bytes)
    return try Upload.read(&bytes, password: password).items
}

/// What an upload of a text holds.
func items(text: String) throws(UploadError) -> [Upload.Item] { try items(text.utf8) }

/// Why an upload is refused; nil where it is not. Whatever is refused must be overwritten where it lies.
func refusal(_ bytes: some Sequence<UInt8>, password: String? = nil) -> UploadError? {
    var bytes = Array(bytes)
    // Makes it the only one that refers to its storage.
    let place = bytes.withUnsafeMutableBytes { $0.baseAddress }
    do {
        _ = try Upload.read(&bytes, password: password)
        return nil
    } catch {
        #expect(bytes.allSatisfy { $0 == 0 })
        #expect(bytes.withUnsafeMutableBytes { $0.baseAddress } == place)
        #expect(error.description.hasSuffix(".") && error.description.utf8.count < 1000)
        return error
    }
}

/// The certificates among items.
func certificates(_ items: [Upload.Item]) -> [CertificateFacts] {
    items.compactMap { if case .certificate(let facts) = $0 { facts } else { nil } }
}

/// The facts of an upload that is one certificate.
func certificate(_ bytes: [UInt8]) throws -> CertificateFacts {
    let items = try items(bytes)
    #expect(items.count == 1)
    return try #require(certificates(items).first)
}

/// The facts of an upload that is one public key.
func publicKey(_ bytes: some Sequence<UInt8>) throws -> KeyFacts {
    let items = try items(bytes)
    guard items.count == 1, case .publicKey(let facts) = items.first else { throw Unexpected(description: "\(items)") }
    return facts
}

struct Unexpected: Error, CustomStringConvertible {
    let description: String
}

/// A directory of its own in which commands make files, removed with this value.
final class Workshop: Sendable {
    let directory: URL

    init() throws {
        self.directory = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: self.directory)
    }

    func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: self.directory.appending(path: name)))
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: self.directory.appending(path: name))
    }

    /// What a script of bash writes, run in the directory on a thread of its own. A script that fails is an error.
    @discardableResult
    func run(_ script: String) async throws -> String {
        let output = self.directory.appending(path: "output-\(UUID().uuidString)")
        let errors = self.directory.appending(path: "errors-\(UUID().uuidString)")
        for file in [output, errors] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-euo", "pipefail", "-c", script]
        process.currentDirectoryURL = self.directory
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
        guard process.terminationStatus == 0 else {
            throw Unexpected(description: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
        }
        return text
    }
}

/// What the openssl program says of a certificate.
struct OpenSSLFacts {
    let pin: String
    let spkiSHA512: String
    let rawKeySHA256: String
    let sha256: String
    let sha1: String
    let serial: String
    let notBefore: Timestamp?
    let notAfter: Timestamp?

    /// The script that says it of the file `$file`, a line for each.
    static let script = """
        openssl x509 -in "$file" -noout -pubkey | openssl pkey -pubin -outform der > "$file.spki"
        openssl dgst -sha256 -binary "$file.spki" | base64 -w0; echo
        openssl dgst -sha512 -r "$file.spki" | cut -d' ' -f1
        # The BIT STRING is the second part of the outer SEQUENCE, and its first byte is no part of the key.
        openssl asn1parse -inform der -in "$file.spki" -noout -out "$file.bits" \
            -strparse $(openssl asn1parse -inform der -in "$file.spki" | grep 'BIT STRING' | head -1 | cut -d: -f1)
        openssl dgst -sha256 -r "$file.bits" | cut -d' ' -f1
        openssl x509 -in "$file" -noout -fingerprint -sha256
        openssl x509 -in "$file" -noout -fingerprint -sha1
        # Long numbers are broken into lines.
        openssl x509 -in "$file" -noout -serial -dates -dateopt iso_8601 | sed -z 's/\\\\\\n//g'

        """

    /// Reads the next certificate's lines.
    init(_ lines: inout ArraySlice<Substring>) throws {
        func next() throws -> String {
            guard let line = lines.popFirst() else { throw Unexpected(description: "openssl said too little") }
            return String(line)
        }
        func value(_ line: String) -> String { String(line.split(separator: "=", maxSplits: 1).last ?? "") }
        func hex(_ line: String) -> String { value(line).replacing(":", with: "").lowercased() }
        func time(_ line: String) -> Timestamp? {
            Timestamp(rfc3339: value(line).replacing(" ", with: "T", maxReplacements: 1))
        }
        self.pin = try "sha256/" + next()
        self.spkiSHA512 = try next()
        self.rawKeySHA256 = try next()
        self.sha256 = try hex(next())
        self.sha1 = try hex(next())
        let serial = try hex(next())
        let digits = serial.drop { $0 == "0" || $0 == "-" }
        self.serial = digits.isEmpty ? "0" : (serial.hasPrefix("-") ? "-" : "") + digits
        self.notBefore = try time(next())
        self.notAfter = try time(next())
    }

    /// Compares everything.
    func agrees(with facts: CertificateFacts, _ comment: Comment) {
        #expect(facts.key.pin.description == self.pin, comment)
        #expect(Hex.encode(facts.key.spkiSHA512) == self.spkiSHA512, comment)
        #expect(Hex.encode(facts.key.rawKeySHA256) == self.rawKeySHA256, comment)
        #expect(Hex.encode(facts.sha256) == self.sha256, comment)
        #expect(Hex.encode(facts.sha1) == self.sha1, comment)
        #expect(facts.serial == self.serial, comment)
        // Nil for years that are not kept, and where openssl cannot write the time.
        #expect(self.notBefore.map { $0.seconds == facts.notBefore.seconds } ?? true, comment)
        #expect(self.notAfter.map { $0.seconds == facts.notAfter.seconds } ?? true, comment)
    }
}
