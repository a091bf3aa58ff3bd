import Concurrency
package import Keys
import LogLines
package import Logging
import NIOCore
package import PinWire

/// Signed documents that a node keeps outside the database, so that it can serve them where the database has lost them.
package struct KeptDocuments: Sendable {
    let stored: [DocumentStore.Stored]
    /// The documents, as a memory states them.
    package let remembered: [AppID: NodeMemory.Document]

    package static let none = KeptDocuments(stored: [])

    private init(stored: [DocumentStore.Stored]) {
        self.stored = stored
        self.remembered = Dictionary(
            stored.lazy.map { ($0.document.app, $0.document.remembered) }, uniquingKeysWith: { first, _ in first })
    }

    /// The documents themselves. Those of a later form are left out.
    package var documents: [Document] {
        self.stored.compactMap { stored in
            guard let text = String(ascii: stored.document.body[...]),
                let jws = try? CompactJWS(parsing: text, type: Publisher.documentType)
            else { return nil }
            return try? Document(payload: jws.payload)
        }
    }

    /// The lines of a file that are about one app, as far as their first bytes tell: neither parsed nor verified.
    package struct Lines: Sendable {
        let app: String
        fileprivate var lines: [ArraySlice<UInt8>]

        /// The documents among them, the newest at `now` first. All of them count: an unsound one hides no other. Other lines are left out:
        /// the last one may be cut off.
        func newestFirst(at now: Timestamp) -> [DocumentStore.Stored] {
            self.lines.compactMap(KeptDocuments.signed).filter { $0.app.text == self.app }
                .sorted { $1.issuance(at: now) < $0.issuance(at: now) }
                .map { DocumentStore.Stored(document: $0, ledgerEnd: 0) }
        }
    }

    /// The lines of a file, each a compact JWS, by app.
    static func byApp(_ lines: some Sequence<ArraySlice<UInt8>>) -> [Lines] {
        var found: [String: Lines] = [:]
        for line in lines {
            guard let app = Self.app(of: line) else { continue }
            found[app, default: Lines(app: app, lines: [])].lines.append(line)
        }
        return Array(found.values)
    }

    /// Characters of a payload in which the app is looked for: `archived_at` alone may stand before it.
    private static let head = 512

    /// The app that a line is about, by the first bytes of its payload, or by the whole of it where they do not tell.
    private static func app(of line: ArraySlice<UInt8>) -> String? {
        let payload = line.drop { $0 != UInt8(ascii: ".") }.dropFirst()
        let head = payload.prefix(Self.head).prefix { $0 != UInt8(ascii: ".") }
        if let text = String(ascii: head.dropLast(head.count % 4)), let bytes = Base64URL.decode(text) {
            let name = Array("\"aud\":\"".utf8)
            let starts = bytes.indices.first { bytes[$0...].starts(with: name) }
            if let starts {
                let value = bytes[(starts + name.count)...]
                if let end = value.firstIndex(of: UInt8(ascii: "\"")) { return String(ascii: value[..<end]) }
            }
        }
        return Self.signed(line)?.app.text
    }

    /// The documents among `lines` that a node remembers having served, and later ones that one of `keys` has signed: they are kept
    /// before the memory states them. The one of the highest version counts among several of an app, and of two signatures the one that was kept later.
    ///
    /// - Parameter keys: Public keys of 32 bytes, by key id.
    init(
        lines: some Sequence<ArraySlice<UInt8>>, remembered: [AppID: NodeMemory.Document],
        signedBy keys: [String: [UInt8]] = [:]
    ) {
        var newest: [AppID: DocumentStore.Signed] = [:]
        for line in lines {
            guard let document = Self.signed(line) else { continue }
            if let other = newest[document.app], other.version > document.version { continue }
            guard
                remembered[document.app] == document.remembered
                    || document.version > remembered[document.app]?.version ?? 0
                        && Self.isSigned(document, by: keys)
            else { continue }
            newest[document.app] = document
        }
        self.init(stored: newest.values.map { DocumentStore.Stored(document: $0, ledgerEnd: 0) })
    }

    private static func isSigned(_ document: DocumentStore.Signed, by keys: [String: [UInt8]]) -> Bool {
        guard let key = keys[document.keyID].flatMap({ Ed25519PublicKey($0) }),
            let text = String(ascii: document.body[...]),
            let jws = try? CompactJWS(parsing: text, type: Publisher.documentType)
        else { return false }
        return (try? jws.verify(with: key)) != nil
    }

    /// The document that a line is, unverified.
    private static func signed(_ line: ArraySlice<UInt8>) -> DocumentStore.Signed? {
        guard line.count <= CompactJWS.maximumSize, let text = String(ascii: line),
            let jws = try? CompactJWS(parsing: text, type: Publisher.documentType),
            let issued = try? DocumentEnvelope(anyForm: jws.payload)
        else { return nil }
        // Its position is not in it. 0 is never beyond what a node has read.
        return DocumentStore.Signed(
            app: issued.app, version: issued.version, position: 0, contentDigest: issued.contentDigest,
            issuedAt: issued.issuedAt, expiresAt: issued.expiresAt, keyID: jws.keyID, body: Array(line))
    }
}

/// The file in a node's state directory that holds its ``KeptDocuments``: one compact JWS a line, the newest of an app last.
///
/// Lines are appended. Once most of them are of earlier versions, the file is written again as a whole. If the process dies
/// meanwhile, the last line may be cut off, or the earlier file stays.
///
/// A file of any size is read: what the process before could write, this one can read, or it would not start. Its size is bounded
/// where it is written, to some more than the documents take that a node holds in memory anyway.
package struct KeptDocumentsFile: Sendable {
    package let path: String

    /// The size in bytes at which a file is written again although less than half of it is of earlier versions.
    private let largeSize: Int
    /// A file of this size is only appended to.
    private let smallSize: Int

    /// - Parameters:
    ///   - directory: The state directory, of one node alone.
    ///   - epoch: The number of the epoch whose lost end was set aside; nil for the file that the node goes on with.
    ///   - smallSize: Bytes up to which a file is only appended to.
    ///   - largeSize: Bytes that a file has at the most, unless the present documents alone take four fifths of it.
    package init(directory: String, lostIn epoch: Int64? = nil, smallSize: Int = 1 << 20, largeSize: Int = 1 << 30) {
        self.path = SetAside.path("\(directory)/documents", epoch: epoch)
        (self.smallSize, self.largeSize) = (smallSize, largeSize)
    }

    /// The documents that the node remembers having served, and later ones that `keys` have signed, as far as the file has them; none
    /// where there is no file.
    package func read(
        _ remembered: [AppID: NodeMemory.Document], signedBy keys: [String: [UInt8]] = [:]
    ) async throws(PrivateFile.Failure) -> KeptDocuments {
        try await self.lines { KeptDocuments(lines: $0, remembered: remembered, signedBy: keys) }
    }

    /// The documents as ``read(_:signedBy:)`` finds them; nil where the file cannot be read, which the log says: such a node serves what
    /// the database has, and only adds to the file.
    package func readOrLog(
        _ remembered: [AppID: NodeMemory.Document], signedBy keys: [String: [UInt8]], _ logger: Logger
    ) async -> KeptDocuments? {
        do throws(PrivateFile.Failure) { return try await self.read(remembered, signedBy: keys) } catch {
            logger.log(.keptDocumentsUnreadable, ["error": "\(error.text("the documents", self.path).message)"])
            return nil
        }
    }

    /// All lines of the file, for a node that remembers by them alone; none where there is no file.
    package func readAll() async throws(PrivateFile.Failure) -> [KeptDocuments.Lines] {
        try await self.lines { KeptDocuments.byApp($0) }
    }

    /// The result of `make` for the file's lines.
    private func lines<Content: Sendable>(
        _ make: @escaping @Sendable ([ArraySlice<UInt8>]) -> Content
    ) async throws(PrivateFile.Failure) -> Content {
        let path = self.path
        let read = await DetachedThread.run { () -> Result<Content, PrivateFile.Failure> in
            guard PrivateFile.exists(path) else { return .success(make([])) }
            do throws(PrivateFile.Failure) {
                let bytes = try PrivateFile.read(path, atMost: .max)
                return .success(make(bytes.split(separator: UInt8(ascii: "\n"))))
            } catch { return .failure(error) }
        }
        guard let read else { throw .unreadable(reason: "the system has no thread to give") }
        return try read.get()
    }

    /// Adds documents to the file as the process before has left it: its last line may be cut off.
    func add(_ documents: [PublishedDocument]) async throws(PrivateFile.Failure) {
        try await self.write([UInt8(ascii: "\n")] + Self.lines(documents), isNew: !PrivateFile.exists(self.path))
    }

    /// Adds documents to a file of `size` bytes; nil where the file is to be begun.
    ///
    /// - Returns: The number of bytes.
    func append(_ documents: [PublishedDocument], to size: Int?) async throws(PrivateFile.Failure) -> Int {
        let added = Self.lines(documents)
        try await self.write(added, isNew: size == nil)
        return (size ?? 0) + added.count
    }

    private func write(_ bytes: [UInt8], isNew: Bool) async throws(PrivateFile.Failure) {
        let path = self.path
        let result = await DetachedThread.run { () -> Result<Void, PrivateFile.Failure> in
            do throws(PrivateFile.Failure) {
                if isNew { try PrivateFile.write(bytes, to: path) } else { try PrivateFile.append(bytes, to: path) }
            } catch { return .failure(error) }
            return .success(())
        }
        guard let result else { throw .unwritable(reason: "the system has no thread to give") }
        try result.get()
    }

    /// Whether a file of `size` bytes that holds `live` bytes of present documents is to be written again.
    func isWasteful(_ size: Int, live: Int) -> Bool {
        // A quarter may always be of earlier versions, or each change would write everything again.
        size > max(self.smallSize, min(2 * live, max(self.largeSize, live + live / 4)))
    }

    private static func lines(_ documents: [PublishedDocument]) -> [UInt8] {
        documents.reduce(into: []) { bytes, document in
            bytes += document.body.identity.bytes.readableBytesView
            bytes.append(UInt8(ascii: "\n"))
        }
    }
}
