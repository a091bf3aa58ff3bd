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

    private struct Content {
        var variants: [Evaluator.Resolution: Answer] = [:]
        var byteCount = 0
    }

    private let content = Mutex(Content())

    /// The most variants that are kept of one document. Beyond it all are made anew as they are asked for.
    static var variantLimit: Int { 256 }

    /// - Throws: where the document is none. It was verified when it was taken in, so another program has made it.
    init(_ document: PublishedDocument) throws {
        let text = String(decoding: document.body.identity.bytes.readableBytesView, as: UTF8.self)
        let payload = try CompactJWS(parsing: text, type: Publisher.documentType).payload
        self.document = document
        self.issued = try IssuedDocument(payload: payload)
        self.evaluator = Evaluator(self.issued)
    }

    /// The variant of a resolution; nil where nobody has asked for it yet.
    package subscript(_ resolution: Evaluator.Resolution) -> Answer? {
        self.content.withLock { $0.variants[resolution] }
    }

    /// Keeps a variant of so many bytes.
    func keep(_ answer: Answer, of resolution: Evaluator.Resolution, byteCount: Int, limit: Int) {
        self.content.withLock { content in
            guard content.variants[resolution] == nil else { return }
            if content.variants.count >= Self.variantLimit || content.byteCount + byteCount > limit {
                content = Content()
            }
            content.variants[resolution] = answer
            content.byteCount += byteCount
        }
    }

    /// What it takes of memory, roughly: the document as values, and its variants.
    var cost: Int {
        4 * self.document.body.identity.bytes.readableBytes + self.content.withLock { $0.byteCount }
    }
}
