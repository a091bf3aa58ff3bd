import Keys
import NIOCore
package import PinWire
import Synchronization

/// A published document ready to be decided by, and what was made of it for devices so far.
///
/// Devices of one resolution share one variant: there are few, one for each combination of candidates that rollouts let
/// devices into, not one for each device.
package final class EvaluatedSource<Answer: Sendable>: Sendable {
    /// The document that variants are made from.
    package let document: PublishedDocument
    package let evaluator: Evaluator
    let issued: IssuedDocument
    /// What it takes of memory without variants, roughly: the document as values.
    let cost: Int

    private struct Variant {
        var answer: Answer
        var byteCount: Int
        /// How often any variant had been asked for when this one was last.
        var lastUse: UInt64
    }

    private struct Content {
        var variants: [Evaluator.Resolution: Variant] = [:]
        var byteCount = 0
        var uses: UInt64 = 0

        /// Lets go of the quarter that nobody has asked for for the longest time, and of one at least.
        mutating func removeQuarter() {
            let byAge = self.variants.sorted { $0.value.lastUse < $1.value.lastUse }
            for (resolution, variant) in byAge.prefix((byAge.count + 3) / 4) {
                self.variants[resolution] = nil
                self.byteCount -= variant.byteCount
            }
        }
    }

    private let content = Mutex(Content())

    /// The most variants that are kept of one document. Beyond it, some are made anew as they are asked for.
    static var variantLimit: Int { 256 }

    /// - Throws: where the document is none. It was verified when it was taken in, so another program has made it.
    init(_ document: PublishedDocument) throws {
        let text = String(decoding: document.body.identity.bytes.readableBytesView, as: UTF8.self)
        let payload = try CompactJWS(parsing: text, type: Publisher.documentType).payload
        self.document = document
        self.issued = try IssuedDocument(payload: payload)
        self.evaluator = Evaluator(self.issued)
        self.cost = 4 * document.body.identity.bytes.readableBytes
    }

    /// The variant of a resolution; nil where nobody has asked for it yet.
    package subscript(_ resolution: Evaluator.Resolution) -> Answer? {
        self.content.withLock { content in
            guard let place = content.variants.index(forKey: resolution) else { return nil }
            content.uses += 1
            content.variants.values[place].lastUse = content.uses
            return content.variants.values[place].answer
        }
    }

    /// Keeps a variant of so many bytes, in the place of older ones where there is no room.
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
