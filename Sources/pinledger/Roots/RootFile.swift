import Foundation
import Keys
import PinWire

/// Files about roots of trust: roots themselves, and the public keys that they name.
enum RootFile {
    /// Reads a root in canonical form or as other TUF tools write it.
    static func read(_ path: String) throws(CommandFailure) -> SignedRoot {
        let bytes = try Self.bytes(path)
        do throws(SignedRoot.Malformed) { return try SignedRoot(bytes, isLenient: true) } catch {
            throw CommandFailure(
                "\(path): \(error)", advice: "Give a file that `pinledger root draft FILE` has made.", status: .usage)
        }
    }

    /// Writes a root, whole or not at all.
    static func write(_ root: SignedRoot, to path: String) throws(CommandFailure) {
        guard root.bytes.count <= RootOfTrust.byteLimit else {
            throw CommandFailure("the root has more than \(RootOfTrust.byteLimit) bytes", status: .usage)
        }
        do { try Data(root.bytes).write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw CommandFailure("\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    /// Reads a public key of a root.
    static func publicKey(_ path: String) throws(CommandFailure) -> [UInt8] {
        let bytes = try Self.bytes(path)
        guard let key = Ed25519PublicKey(file: bytes) else {
            guard !bytes.starts(with: Array("-----BEGIN OPENSSH PRIVATE KEY".utf8)),
                !bytes.starts(with: Array("-----BEGIN PRIVATE".utf8))
            else {
                throw CommandFailure(
                    "\(path) is a private key: nothing was sent or written",
                    advice: "Give the public key, the file that ends in .pub, and keep this one where it is.",
                    status: .usage)
            }
            throw CommandFailure(
                "\(path) is no Ed25519 public key",
                advice:
                    "Make a key with `ssh-keygen -t ed25519` and give the file that ends in .pub, or with `openssl genpkey -algorithm ed25519`, and give what `openssl pkey -pubout` prints.",
                status: .usage)
        }
        return key.bytes
    }

    /// Reads the public keys of a key set.
    static func documentKeys(_ path: String) throws(CommandFailure) -> [[UInt8]] {
        let bytes = try Self.bytes(path)
        guard let json = try? JSON(parsing: bytes), let keys = try? JWK.keys(ofSet: json), !keys.isEmpty else {
            throw CommandFailure(
                "\(path) is no JWKS with Ed25519 public keys",
                advice: "Save the answer of /client/v1/jwks.json, from a server that you trust, in this file.",
                status: .usage)
        }
        return keys.map(\.publicKey.bytes)
    }

    private static let limit = 1 << 20

    private static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
        guard let handle = FileHandle(forReadingAtPath: path) else { throw GivenFile.unreadable(path) }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: Self.limit + 1) else { throw GivenFile.unreadable(path) }
        guard data.count <= Self.limit else {
            throw CommandFailure("\(path) has more than \(Self.limit) bytes", status: .usage)
        }
        return Array(data)
    }
}
