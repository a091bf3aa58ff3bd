import NIOCore
import PinWire
import Publishing
import Signals
import Synchronization

/// The answers to clients' requests, by app and by request target: documents, and what else a node prepares, each prepared when it is
/// first asked for and for as long as it is current.
final class PreparedAnswers: Sendable {
    private struct Entry {
        var answer: PreparedAnswer
        /// The document table's generation in which it was found current.
        var generation: UInt64
        /// When caches are to be told something else of it; nil for never.
        var end: ContinuousClock.Instant?

        func isCurrent(in generation: UInt64) -> Bool {
            self.generation == generation && self.end.map { ContinuousClock.now < $0 } ?? true
        }
    }

    private let documents: DocumentTable
    private let intake: AdoptionIntake?
    private let caching: ClientCaching
    private let clock: @Sendable () -> Timestamp
    private let others: @Sendable (UnsafeRawBufferPointer) -> PreparedAnswer?
    private let answers = Mutex<[String: Entry]>([:])

    /// - Parameters:
    ///   - intake: Counts the clients of documents; nil to count none.
    ///   - others: The answers to all other targets, as ``answer(to:)`` gives them.
    init(
        documents: DocumentTable, intake: AdoptionIntake?, caching: ClientCaching,
        clock: @escaping @Sendable () -> Timestamp,
        others: @escaping @Sendable (UnsafeRawBufferPointer) -> PreparedAnswer?
    ) {
        self.documents = documents
        self.intake = intake
        self.caching = caching
        self.clock = clock
        self.others = others
    }

    private static let prefix = Array("/client/v1/apps/".utf8)
    private static let suffix = Array("/document".utf8)

    /// The answer to a request target in its form on the wire; nil for every target without one or in another spelling,
    /// with percent escapes or a query where none is known.
    func answer(to target: UnsafeRawBufferPointer) -> PreparedAnswer? {
        if target.count > Self.prefix.count + Self.suffix.count, target.starts(with: Self.prefix),
            target.suffix(Self.suffix.count).elementsEqual(Self.suffix)
        {
            let name = target[Self.prefix.count..<(target.count - Self.suffix.count)]
            // Names of apps are ASCII: a repaired text that was not UTF-8 cannot match one.
            return self.document(of: String(decoding: name, as: UTF8.self))
        }
        return self.others(target)
    }

    /// The answer with an app's document; nil where there is none.
    func document(of app: String) -> PreparedAnswer? {
        // Read first: a document that is published from here on makes the entry outdated.
        let generation = self.documents.generation
        let known = self.answers.withLock { $0[app] }
        if let known, known.isCurrent(in: generation) { return known.answer }
        guard let document = self.documents[named: app] else { return nil }
        let now = self.clock()
        let told = self.caching.document(endingAt: document.expiresAt, at: now)
        let answer =
            if let known, known.answer.body.isSame(as: document.body), known.answer.cacheControl == told.cacheControl {
                known.answer
            } else {
                PreparedAnswer(
                    contentType: ClientHeaders.documentType, cacheControl: told.cacheControl, body: document.body,
                    document: self.intake.map {
                        PreparedAnswer.Document(appIndex: $0.index(of: document.app), version: document.version)
                    })
            }
        let end = told.until.map { ContinuousClock.now + .microseconds($0.microseconds - now.microseconds) }
        self.answers.withLock { $0[app] = Entry(answer: answer, generation: generation, end: end) }
        return answer
    }
}
