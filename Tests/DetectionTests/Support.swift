import Foundation
import PinWire
import Testing

/// The rows of one of the lists in `Vectors/detectors.json`.
func vectors(_ name: String, in file: String = #filePath) throws -> [JSON] {
    let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
    let bytes = try Data(contentsOf: folder.appendingPathComponent("Vectors/detectors.json"))
    return try #require(try JSON(parsing: Array(bytes))[name]?.arrayValue)
}

extension JSON {
    /// The number of a member; −∞ where it is null, which is how the vectors write that.
    func number(_ name: String) throws -> Double {
        switch self[name] {
        case .integer(let value)?: return Double(value)
        case .number(let value)?: return value
        case .null?: return -.infinity
        default:
            Issue.record("no number \(name)")
            return .nan
        }
    }
}

/// Whether two numbers agree to so many units of the last of nine digits.
func agrees(_ left: Double, _ right: Double, to relative: Double = 1e-9) -> Bool {
    left == right || abs(left - right) <= relative * max(1, abs(right))
}

func exponential(_ value: Double) -> Double { Foundation.exp(value) }
