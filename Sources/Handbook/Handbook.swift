import CHandbook

/// The texts that the server shows of itself: they are part of the program file, as UTF-8.
///
/// C's `#embed` puts them there at once; as array literals, which is what the package manager makes of resources, they
/// take the Swift compiler minutes.
package enum Handbook {
    /// The contract: OpenAPI 3.1 in YAML.
    package static let contract: [UInt8] = unsafe Self.bytes(handbook_contract())

    /// The contract in JSON: the same description.
    package static let contractJSON: [UInt8] = unsafe Self.bytes(handbook_contract_json())

    /// The JSON Schema (2020-12) of files with specs of apps, which `pinledger plan` takes.
    package static let specsSchema: [UInt8] = unsafe Self.bytes(handbook_specs_schema())

    /// Every page of the handbook, in the order of reading.
    package static let pages: [HandbookPage] = (0..<handbook_page_count()).map { index in
        let text = unsafe handbook_page(index)
        return unsafe HandbookPage(name: String(cString: text.name), markdown: Self.bytes(text))
    }

    /// The page with a name such as `rollouts`; nil if there is none.
    package static func page(_ name: String) -> HandbookPage? { self.pages.first { $0.name == name } }

    private static func bytes(_ text: handbook_text) -> [UInt8] {
        unsafe Array(UnsafeBufferPointer(start: text.bytes, count: text.count))
    }
}
