import ArgumentParser
import Foundation
import PinWire

/// Writes a root of trust that is still to be signed.
struct RootDraftCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "draft", abstract: "Draft a root of trust, to be signed.",
        discussion: """
            pinledger root draft 1.root.json --root-key ada.pub --root-key bob.pub --threshold 2 --document-keys keys.json --expires 2031-01-01
            pinledger root draft 2.root.json --after 1.root.json --document-keys keys.json

            After another root, what is not stated stays as it is there. The key set of --document-keys is the answer of \
            /client/v1/jwks.json; --without leaves a key of it out.
            """)
    @Argument(help: "File to write.", completion: .file()) var file: String
    @Option(help: ArgumentHelp("The root before this one.", valueName: "file"), completion: .file())
    var after: String?
    @Option(
        help: ArgumentHelp(
            "File with the Ed25519 public key of a person who signs roots: a line of OpenSSH, or PEM. Repeat it for each.",
            valueName: "file"), completion: .file())
    var rootKey: [String] = []
    @Option(help: ArgumentHelp("How many of these keys have to sign a root.", valueName: "number"))
    var threshold: Int?
    @Option(
        help: ArgumentHelp("File with the JWKS of the keys that sign documents.", valueName: "file"),
        completion: .file())
    var documentKeys: String?
    @Option(
        help: ArgumentHelp(
            "Leave this key of documents out: its kid, as `pinledger key list` shows it. Repeat it for more.",
            valueName: "kid"))
    var without: [KeyIDArgument] = []
    @Option(
        help: ArgumentHelp(
            "When the root ends, \(TimeInput.moments) or 1825d: clients accept no further document then until they have the next one.",
            valueName: "time"))
    var expires: String?

    func run() throws {
        guard !FileManager.default.fileExists(atPath: self.file) else {
            throw CommandFailure("\(self.file) is there already", advice: "Give another name.", status: .usage)
        }
        let before = try self.after.map { try RootFile.read($0).metadata }
        let keys = try self.rootKey.map { try RootFile.publicKey($0) }
        let documents = try self.documentKeys.map { try RootFile.documentKeys($0) }
        let end = try self.expires.map { try TimeInput.rfc3339($0, .ahead) }.flatMap { Timestamp(rfc3339: $0) }
        if let end, end <= Node.clock() { throw CommandFailure("--expires has passed", status: .usage) }
        var missing: [String] = []
        if keys.isEmpty, before == nil { missing.append("--root-key") }
        if self.threshold == nil, before == nil || !keys.isEmpty { missing.append("--threshold") }
        if documents == nil, before == nil { missing.append("--document-keys") }
        if end == nil, before == nil { missing.append("--expires") }
        guard missing.isEmpty else {
            throw CommandFailure(
                "the root lacks \(missing.joined(separator: ", "))",
                advice: "Only what the root before it has (--after) can be left out.", status: .usage)
        }
        let version = (before?.version ?? 0) + 1
        guard let end = end ?? before?.expiresAt,
            let candidates = documents ?? before.map({ Array($0.documents.keys.values) }),
            version <= JSON.largestInteger
        else { throw CommandFailure("no root can come after version \(version - 1)", status: .usage) }
        let documentKeys = try self.leavingOut(candidates)
        let present = before.map { Array($0.root.keys.values) } ?? []
        let role = RootMetadata.Role(
            keys: keys.isEmpty ? present : keys, threshold: self.threshold ?? before?.root.threshold ?? 1)
        guard (1...role.keys.count).contains(role.threshold) else {
            throw CommandFailure(
                "--threshold must be a number from 1 to \(role.keys.count), the number of root keys", status: .usage)
        }
        let metadata = RootMetadata(
            version: version, expiresAt: Timestamp(seconds: end.seconds), root: role,
            documents: RootMetadata.Role(keys: documentKeys, threshold: 1))
        guard max(role.keys.count, metadata.documents.keys.count) <= RootMetadata.keyLimit else {
            throw CommandFailure("a root has at most \(RootMetadata.keyLimit) keys of each kind", status: .usage)
        }
        try RootFile.write(SignedRoot(metadata), to: self.file)
        RootReport.print(SignedRoot(metadata), after: before)
    }

    /// The keys of documents but for those that are to be left out.
    private func leavingOut(_ keys: [[UInt8]]) throws(CommandFailure) -> [[UInt8]] {
        let kids = Set(keys.map(RootOfTrust.thumbprint))
        for kid in self.without.map(\.text) where !kids.contains(kid) {
            throw CommandFailure(
                "\(kid) of --without is not among the keys",
                advice: "They are \(kids.sorted().joined(separator: ", ")).", status: .usage)
        }
        let rest = keys.filter { key in !self.without.contains { $0.text == RootOfTrust.thumbprint(key) } }
        guard !rest.isEmpty else { throw CommandFailure("no key of documents is left", status: .usage) }
        return rest
    }
}
