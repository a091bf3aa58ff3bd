import Foundation
import PinWire

/// The bytes of a file under this folder's `Vectors` or `Golden`.
func testFile(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: path)))
}

/// The value of a JSON text, at the place `/x`, so that a pointer that is not extended shows.
func field(_ text: String) throws -> JSONField {
    JSONField(try JSON(text: text), at: JSONPointer(["x"]))
}

/// The defect that `read` finds; nil where it finds none.
func defect<T>(_ read: () throws -> T) throws -> JSONDefect? {
    do {
        _ = try read()
        return nil
    } catch let defect as JSONDefect {
        return defect
    }
}

/// A host pattern of test data.
func host(_ text: String) throws -> HostPattern { try HostPattern(text) }

/// A pin whose 32 bytes are drawn from `seed`, so that it looks like a digest.
func pin(_ seed: UInt8) throws -> Pin {
    guard let pin = Pin(bytes: sha256([seed, 1, 2, 3])) else { throw CocoaError(.coderInvalidValue) }
    return pin
}
