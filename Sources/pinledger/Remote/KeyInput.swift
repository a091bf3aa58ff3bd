import Foundation
import KeyFiles
import PinWire
import PinledgerServer

/// A key as people name it on the command line: a file with the key, or a pin.
///
/// Files are read here first, so that a private key never leaves this machine.
struct KeyInput {
    let pin: Pin
    /// The value for the API.
    let members: [String: JSON]

    init(_ text: String) throws {
        guard FileManager.default.fileExists(atPath: text) else {
            do throws(WrittenPin.Malformed) {
                let written = try WrittenPin(text)
                self.pin = written.pin
                // The server judges hexadecimal digits by the app's keys.
                let digits = Hex.encode(written.pin.bytes)
                self.members = ["pin": .string(written.spelling.isAmbiguous ? digits : written.pin.description)]
            } catch {
                throw Self.failure(text, error.description)
            }
            return
        }
        let (bytes, upload) = try Self.read(text)
        do { self.pin = try UploadedKey(upload, known: nil).pin } catch {
            throw CommandFailure("\(text) \(error)", status: .usage)
        }
        self.members =
            String(validating: bytes, as: UTF8.self).map { ["material": .string($0)] }
            ?? ["material_base64": .string(Base64.encode(bytes))]
    }

    /// The pin of a key that the app has: what is in no list is not found, so hexadecimal digits are taken too.
    static func existing(_ text: String) throws -> Pin {
        guard !FileManager.default.fileExists(atPath: text) else { return try KeyInput(text).pin }
        do { return try WrittenPin(text).pin } catch { throw Self.failure(text, "\(error)") }
    }

    private static func failure(_ text: String, _ reason: String) -> CommandFailure {
        // No spelling of a pin has a stop in it, and none that begins like a path is one here.
        guard !text.contains("."), !text.hasPrefix("/"), !text.hasPrefix("~") else {
            return CommandFailure(
                "no such file: \(text)",
                advice: "Give a file with a certificate, a public key or a signing request, or a pin.", status: .usage)
        }
        return CommandFailure(
            "\(text) \(reason)",
            advice: "Give a pin, or a file with a certificate, a public key or a signing request.", status: .usage)
    }

    /// A file's contents, with its bytes.
    static func read(_ path: String, password: String? = nil) throws -> ([UInt8], Upload) {
        guard let copy = SensitiveUpload(file: path) else { throw GivenFile.unreadable(path) }
        do throws(UploadError) {
            let upload = try copy.read(password: password)
            return (copy.contents, upload)
        } catch {
            throw CommandFailure("\(path): \(error.descriptionOfFile)", status: .usage)
        }
    }
}
