import ArgumentParser
import Foundation
import Keys
import PinWire
import Pinning

/// Approves a proposed change, with the approver's own signature where they have a key.
struct ChangeApproveCommand: AsyncParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "approve", abstract: "Approve a change as it is now.",
        discussion: """
            pinledger change approve chg_4kQ9sXb2Lw8ZtR7c
            pinledger change approve chg_4kQ9sXb2Lw8ZtR7c --ssh-agent

            The command shows the change and asks. A script looks at it first (pinledger change show ID), and gives the \
            hash of what it looked at with --content. The command computes the hash from what it was shown, and does not take the \
            server's word for it.

            Who has an approval key (pinledger access show) signs with it: by --ssh-agent, or with the file of an OpenSSH private key \
            of the type ssh-ed25519 that has no passphrase. For a key on another machine, --statement prints what is to be signed, and \
            --signature takes what this prints there: ssh-keygen -Y sign -n pinledger-approval -f KEY
            """)
    @Argument(help: "The change's id (chg_…).", completion: .changes) var id: String
    @Option(
        help: ArgumentHelp(
            "The hash of the content that you looked at (content_sha256).",
            valueName: "hash"))
    var content: String?
    @Flag(help: "Sign with a key of the agent at SSH_AUTH_SOCK.") var sshAgent = false
    @Option(help: ArgumentHelp("Sign with the OpenSSH private key in this file.", valueName: "file"))
    var keyFile: String?
    @Option(
        help: ArgumentHelp("Send the signature in this file, which ssh-keygen made.", valueName: "file"))
    var signature: String?
    @Flag(help: "Print what is to be signed, and approve nothing.") var statement = false
    @OptionGroup var act: ChangeCommands.ActOptions
    @OptionGroup var remote: RemoteOptions

    func validate() throws {
        guard [self.sshAgent, self.keyFile != nil, self.signature != nil, self.statement].count(where: \.self) <= 1
        else {
            throw ValidationError("Give one of --ssh-agent, --key-file, --signature and --statement.")
        }
    }

    func run() async throws {
        try await self.remote.withClient { client in
            let change = try await client.get(ChangeCommands.path(self.id))
            let digest = try self.digest(of: change)
            if let content {
                guard Hex.decode(content) == digest else {
                    throw CommandFailure(
                        "the change's content is \(Hex.encode(digest)), not \(content)",
                        advice: "Look at it again with `pinledger change show \(self.id)`.", status: .conflict)
                }
            } else {
                try Self.checkShown(change)
                ChangeText.print(change) { Console.error($0) }
                for line in try await ChangeText.effects(change, client) { Console.error(line) }
                if !self.statement { try Self.confirm() }
            }
            var members: [String: JSON] = ["content_sha256": .string(Hex.encode(digest))]
            if self.sshAgent || self.keyFile != nil || self.signature != nil || self.statement {
                let me = try await client.get("/v1/whoami")["principal"]
                guard let person = me?["principal_id"]?.stringValue else {
                    throw CommandFailure(
                        "the token belongs to no person", advice: "Use a token of your own (`pinledger login`).")
                }
                let statement = ApprovalSignature.statement(
                    change: self.id, contentDigest: digest, principal: person)
                guard !self.statement else {
                    // Without a line break: it would be signed too.
                    return Console.write(statement)
                }
                members["signature"] = .string(try await self.signature(of: statement, me))
            }
            ChangeReport.print(
                try await client.change(
                    "POST", ChangeCommands.path(self.id, "approve"), members, self.act.change), self.remote.output)
        }
    }

    /// The hash of the content that the server shows; refused where the server names another one.
    private func digest(of change: JSON) throws -> [UInt8] {
        var content: [String: JSON] = ["change_id": .string(self.id)]
        for name in ChangeContent.memberNames { content[name] = change[name] }
        let digest = sha256(JSON.object(content).canonicalBytes)
        // A closed change has no preview, and what it is then does not matter any more.
        guard Hex.decode(change.text("content_sha256")) == digest else {
            throw CommandFailure(
                "the server names a hash of the change that is not that of what it shows",
                advice: "Approve nothing. Ask who runs the server.", status: .notVerified)
        }
        return digest
    }

    /// Refuses a change whose shown events are not those of which its content has the hash.
    private static func checkShown(_ change: JSON) throws {
        guard let events = change["preview"]?["events"] else {
            throw CommandFailure(
                change["preview"]?["problem"]?.said("detail") ?? "the change is \(change.text("status"))",
                status: .conflict)
        }
        guard Hex.decode(change.text("plan_sha256")) == sha256(events.canonicalBytes) else {
            throw CommandFailure(
                "the server shows other events than those of the change's content",
                advice:
                    "Approve nothing. If the change's base has moved, its author edits it; else ask who runs the server.",
                status: .notVerified)
        }
    }

    private func signature(of statement: [UInt8], _ me: JSON?) async throws -> String {
        if let signature {
            let text = try GivenFile.data(signature)
            guard text.count <= SSHSignature.maximumSize else {
                throw CommandFailure("\(signature) is too long for a signature", status: .usage)
            }
            do { return try SSHSignature(armored: String(decoding: text, as: UTF8.self)).armored } catch {
                throw CommandFailure("\(signature) \(error)", status: .usage)
            }
        }
        if let keyFile {
            let text = try GivenFile.data(keyFile)
            do throws(SSHPrivateKey.Failure) {
                let key = try SSHPrivateKey.read(Array(text))
                return try Self.sign(statement, by: key.publicKey) { try key.sign($0) }
            } catch {
                throw CommandFailure("\(keyFile) \(error)", status: .usage)
            }
        }
        let keys = (me?["approval_keys"]?.arrayValue ?? []).compactMap {
            $0["public_key"]?.stringValue.flatMap { Base64URL.decode($0) }
        }
        guard !keys.isEmpty else {
            throw CommandFailure(
                "you have no approval key",
                advice: "Ask for your public key to be added: `pinledger access approval-key add ID --key-file FILE`.")
        }
        let agent = try SSHAgent()
        return try await agent.armoredSignature(of: statement, namespace: ApprovalSignature.namespace, byOneOf: keys)
    }

    private static func sign(
        _ statement: [UInt8], by key: Ed25519PublicKey, _ sign: ([UInt8]) throws -> [UInt8]
    ) throws(SSHPrivateKey.Failure) -> String {
        do {
            return try SSHSignature(of: statement, namespace: ApprovalSignature.namespace, by: key, sign).armored
        } catch { throw .contradictory }
    }

    private static func confirm() throws {
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                "the approval was not confirmed: standard input is no terminal",
                advice: "Give the hash of the content that was looked at: --content HASH.", status: .usage)
        }
        Console.error("Type approve to approve it:")
        guard readLine()?.trimmingCharacters(in: .whitespaces) == "approve" else {
            throw CommandFailure("nothing was approved", status: .refused)
        }
    }
}
