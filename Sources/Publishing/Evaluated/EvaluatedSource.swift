import Keys
import NIOCore
package import PinWire
package import Synchronization

/// A published document prepared for evaluation, with the variants that were made of it so far.
///
/// Devices of one resolution share one variant: there are few, one for each combination of candidates that rollouts let
/// devices into, not one for each device.
package final class EvaluatedSource<Answer: Sendable>: Sendable {
    /// The document from which variants are made.
    package let document: PublishedDocument
    package let evaluator: Evaluator
    let issued: IssuedDocument
    /// The memory that it takes without variants, roughly: the document as values.
    let cost: Int

    @usableFromInline
    struct Variant {
        @usableFromInline var answer: Answer
        var byteCount: Int
        /// The number of requests for all variants when this one was last asked for.
        @usableFromInline var lastUse: UInt64
    }

    @usableFromInline
    struct Content {
        @usableFromInline var variants: [Evaluator.Resolution: Variant] = [:]
        var byteCount = 0
        @usableFromInline var uses: UInt64 = 0

        /// Drops the quarter of the variants, at least one, that were not asked for for the longest time.
        mutating func removeQuarter() {
            let byAge = self.variants.sorted { $0.value.lastUse < $1.value.lastUse }
            for (resolution, variant) in byAge.prefix((byAge.count + 3) / 4) {
                self.variants[resolution] = nil
                self.byteCount -= variant.byteCount
            }
        }
    }

    @usableFromInline let content = Mutex(Content())

    /// The most variants of one document. Beyond it, some are made again when they are asked for.
    static var variantLimit: Int { 256 }

    /// - Throws: Where the document is malformed. It was verified when it was taken in, so another program has made it.
    init(_ document: PublishedDocument) throws {
        let text = String(decoding: document.body.identity.bytes.readableBytesView, as: UTF8.self)
        let payload = try CompactJWS(parsing: text, type: Publisher.documentType).payload
        self.document = document
        self.issued = try IssuedDocument(payload: payload)
        self.evaluator = Evaluator(self.issued)
        self.cost = 4 * document.body.identity.bytes.readableBytes
    }

    /// The variant of a resolution; nil where it has not been asked for yet.
    @inlinable
    package subscript(_ resolution: Evaluator.Resolution) -> Answer? {
        self.content.withLock { content in
            guard let place = content.variants.index(forKey: resolution) else { return nil }
            content.uses += 1
            content.variants.values[place].lastUse = content.uses
            return content.variants.values[place].answer
        }
    }

    /// Keeps a variant of so many bytes, replacing older ones where there is no room.
    ///
    /// - Parameter limit: Bytes that variants may have together; one is kept in any case.
    /// - Returns: How many bytes there are more, or fewer, than before.
    func keep(_ answer: Answer, of resolution: Evaluator.Resolution, byteCount: Int, limit: Int) -> Int {
        self.content.withLock { content in
            guard content.variants[resolution] == nil else { return 0 }
            let before = content.byteCount
            while !content.variants.isEmpty,
                content.variants.count >= Self.variantLimit || content.byteCount + byteCount > limit
            {
                content.removeQuarter()
            }
            content.uses += 1
            content.variants[resolution] = Variant(answer: answer, byteCount: byteCount, lastUse: content.uses)
            content.byteCount += byteCount
            return content.byteCount - before
        }
    }
}
