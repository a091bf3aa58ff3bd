import CHandbook

/// What the server shows of itself, as UTF-8: texts that are part of the program file.
///
/// C's `#embed` puts them there at once; as array literals, which is what the package manager makes of resources, they
/// take the Swift compiler minutes.
package enum Handbook {
    /// The contract: OpenAPI 3.1 in YAML.
    package static var contract: [UInt8] { unsafe Self.bytes(handbook_contract) }

    /// The guard rails' pages, in Markdown.
    package static var guardRails: [UInt8] { unsafe Self.bytes(handbook_guard_rails) }

    /// How a client verifies and evaluates documents, in Markdown.
    package static var clientIntegration: [UInt8] { unsafe Self.bytes(handbook_client_integration) }

    private static func bytes(_ text: (UnsafeMutablePointer<Int>?) -> UnsafePointer<UInt8>?) -> [UInt8] {
        var count = 0
        let start = unsafe text(&count)
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }
}
