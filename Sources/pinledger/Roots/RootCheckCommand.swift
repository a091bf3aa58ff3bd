import ArgumentParser
import PinWire

/// Checks a root of trust as clients do.
struct RootCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check a root of trust as clients do, and show what it says.",
        discussion: """
            pinledger root check 1.root.json
            pinledger root check 2.root.json --after 1.root.json

            The exit code is 10 where clients would not take it, or no server would publish it.
            """)
    @Argument(help: "File with the root.", completion: .file()) var file: String
    @Option(help: ArgumentHelp("The root before this one.", valueName: "file"), completion: .file())
    var after: String?

    func run() throws {
        let root = try RootFile.read(self.file)
        let before = try self.after.map { try RootFile.read($0) }
        RootReport.print(root, after: before?.metadata)
        do throws(JSONDefect) { try root.checkProfile() } catch {
            throw CommandFailure(
                "no server publishes the root, because TUF tools do not read it: \(error)",
                advice: "Have it drafted again: `pinledger root draft FILE` writes what all of them read.",
                status: .notVerified)
        }
        do throws(RootOfTrust.Failure) {
            guard let before else {
                _ = try RootOfTrust(root.bytes)
                Console.print("It is signed by enough of its own keys.")
                guard root.metadata.version > 1 else { return }
                return Console.print("Whether clients take it in place of the one before, --after PREVIOUS tells.")
            }
            _ = try RootOfTrust(before.bytes).next(root)
            Console.print("It is the next root.")
        } catch {
            let isUnsigned = error == .missingSignatures
            throw CommandFailure(
                isUnsigned && before == nil
                    ? "the root is not signed by enough of its keys" : "clients do not take it: \(error)",
                advice: isUnsigned
                    ? "Have it signed by the keys that are missing: `pinledger root sign FILE --key-file KEY`."
                    : "Draft the next root after the newest one: `pinledger root draft FILE --after PREVIOUS`.",
                status: .notVerified)
        }
    }
}

/// What a root of trust says, for people.
enum RootReport {
    static func print(_ root: SignedRoot, after before: RootMetadata?) {
        let metadata = root.metadata
        Console.print("Root of trust, version \(metadata.version), until \(metadata.expiresAt)")
        Console.print("Keys of documents:")
        let present = Set(before?.documents.keys.keys.map { $0 } ?? [])
        for (id, key) in metadata.documents.keys.sorted(by: { $0.key < $1.key }) {
            let isNew = before != nil && !present.contains(id)
            Console.print("  \(RootOfTrust.thumbprint(key))\(isNew ? "  new" : "")")
        }
        for (id, key) in (before?.documents.keys ?? [:]).sorted(by: { $0.key < $1.key })
        where metadata.documents.keys[id] == nil {
            Console.print("  \(RootOfTrust.thumbprint(key))  no longer trusted")
        }
        if let before, before.root != metadata.root { Self.print(before.root, of: "the root before", root) }
        Self.print(metadata.root, of: "this root", root)
    }

    private static func print(_ role: RootMetadata.Role, of name: String, _ root: SignedRoot) {
        let signers = root.signers(of: role)
        Console.print("Keys of \(name): \(signers.count) of \(role.threshold) signatures")
        for id in role.keys.keys.sorted() { Console.print("  \(id)  \(signers.contains(id) ? "signed" : "-")") }
    }
}
