/// A one-dimensional array without NULLs, in PostgreSQL's binary form as it grows: for arrays that are filled element
/// by element long before they are sent.
package struct PostgresArray<Element: PostgresArrayElement>: Sendable, Hashable {
    private var body = PostgresArrayBody(arrayOID: Element.arrayOID, elementOID: Element.elementOID)

    package init() {}

    package var isEmpty: Bool { self.body.count == 0 }

    package mutating func append(_ element: Element) {
        self.body.count += 1
        self.body.elements.appendCounted { element.encode(into: &$0) }
    }

    package var value: PostgresValue { .array(self.body) }
}

/// An array's elements, each after its length, and their type.
package struct PostgresArrayBody: Sendable, Hashable {
    let arrayOID: UInt32
    let elementOID: UInt32
    var count = 0
    var elements: [UInt8] = []
}

/// The element types of a ``PostgresArray``.
package protocol PostgresArrayElement: Sendable, Hashable {
    static var arrayOID: UInt32 { get }
    static var elementOID: UInt32 { get }
    func encode(into buffer: inout [UInt8])
}

extension String: PostgresArrayElement {
    package static var arrayOID: UInt32 { TypeOID.textArray }
    package static var elementOID: UInt32 { TypeOID.text }
    package func encode(into buffer: inout [UInt8]) { buffer.append(contentsOf: self.utf8) }
}

extension [UInt8]: PostgresArrayElement {
    package static var arrayOID: UInt32 { TypeOID.byteaArray }
    package static var elementOID: UInt32 { TypeOID.bytea }
    package func encode(into buffer: inout [UInt8]) { buffer.append(contentsOf: self) }
}

extension Int64: PostgresArrayElement {
    package static var arrayOID: UInt32 { TypeOID.int8Array }
    package static var elementOID: UInt32 { TypeOID.int8 }
    package func encode(into buffer: inout [UInt8]) { buffer.append(bigEndian: self) }
}

extension Int32: PostgresArrayElement {
    package static var arrayOID: UInt32 { TypeOID.int4Array }
    package static var elementOID: UInt32 { TypeOID.int4 }
    package func encode(into buffer: inout [UInt8]) { buffer.append(bigEndian: self) }
}
