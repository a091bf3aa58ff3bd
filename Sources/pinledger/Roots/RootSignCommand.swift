import ArgumentParser
import Foundation
import Keys
import PinWire

/// Adds a signature to a root of trust.
struct RootSignCommand: ParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "sign", abstract: "Sign a root of trust with an offline key.",
        discussion: """
            pinledger root sign 2.root.json --key-file ada
            pinledger root sign 2.root.json --public-key hsm.pub --signature hsm.sig

            A key file is an OpenSSH private key of the type ssh-ed25519, or PKCS#8 in PEM, without a passphrase. For a key that \
            something else holds, such as an HSM: `pinledger root payload 2.root.json` prints the bytes to sign, and --signature takes the \
            64 bytes of the signature (Ed25519, RFC 8032).
            """)
    @Argument(help: "File with the root. It is replaced.", completion: .file()) var file: String
    @Option(help: ArgumentHelp("File with the private key.", valueName: "file"), completion: .file())
    var keyFile: String?
    @Option(
        help: ArgumentHelp("File with the public key that has made --signature.", valueName: "file"),
        completion: .file())
    var publicKey: String?
    @Option(help: ArgumentHelp("File with a signature of 64 bytes.", valueName: "file"), completion: .file())
    var signature: String?

    func validate() throws {
        guard (self.keyFile != nil) != (self.signature != nil), (self.signature != nil) == (self.publicKey != nil)
        else {
            throw ValidationError("Give --key-file, or --public-key and --signature.")
        }
    }

    func run() throws {
        var root = try RootFile.read(self.file)
        let (publicKey, signature) = try self.sign(root.message)
        let id = RootMetadata.keyID(publicKey.bytes)
        guard publicKey.verifies(signature, over: root.message) else {
            throw CommandFailure(
                "the signature is not one of this root by this key",
                advice: "Sign what `pinledger root payload FILE` prints.",
                status: .notVerified)
        }
        root.add(signature, by: id)
        try RootFile.write(root, to: self.file)
        let isOfRoot = root.metadata.root.keys[id] != nil
        Console.print("\(self.file) is signed by \(id).")
        if !isOfRoot {
            Console.print("The key is not in this root: the signature counts if the root before it has the key.")
        }
    }

    private func sign(_ message: [UInt8]) throws -> (Ed25519PublicKey, [UInt8]) {
        if let file = self.signature, let publicKey {
            let signature = Array(try GivenFile.data(file))
            guard signature.count == 64,
                let key = Ed25519PublicKey(try RootFile.publicKey(publicKey))
            else { throw CommandFailure("\(file) does not have the 64 bytes of a signature", status: .usage) }
            return (key, signature)
        }
        let key = try Self.privateKey(self.keyFile ?? "")
        return (key.publicKey, try key.sign(message))
    }

    private static func privateKey(_ path: String) throws(CommandFailure) -> Ed25519PrivateKey {
        guard (try? RootFile.publicKey(path)) == nil else {
            throw CommandFailure(
                "\(path) is a public key", advice: "Give the private key, the file without .pub.", status: .usage)
        }
        let bytes: [UInt8]
        do throws(PrivateFile.Failure) { bytes = try PrivateFile.read(path) } catch {
            throw CommandFailure(error, "a private key", path, status: .usage)
        }
        do throws(SSHPrivateKey.Failure) { return try SSHPrivateKey.read(bytes) } catch {
            switch error {
            case .notOpenSSH: break
            case .encrypted:
                throw CommandFailure(
                    "\(path) is protected by a passphrase",
                    advice: "Take a copy without it, in memory alone: `ssh-keygen -p -N '' -f COPY`.", status: .usage)
            case .otherType, .contradictory: throw CommandFailure("\(path) \(error)", status: .usage)
            }
        }
        do throws(KeyImportError) { return try Ed25519PrivateKey(importing: bytes) } catch {
            throw CommandFailure("\(path): \(error)", status: .usage)
        }
    }
}

/// Prints what a root's keys sign.
struct RootPayloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "payload", abstract: "Print the bytes of a root of trust that are to be signed.",
        discussion: "pinledger root payload 2.root.json")
    @Argument(help: "File with the root.", completion: .file()) var file: String

    func run() throws {
        Console.write(try RootFile.read(self.file).message)
    }
}
