import Foundation
import Keys
import NIOPosix
import PinWire

/// The SSH agent of who runs the command (draft-ietf-sshm-ssh-agent): it signs, and keeps the key.
struct SSHAgent: Sendable {
    private enum Message {
        static let requestIdentities: UInt8 = 11
        static let identities: UInt8 = 12
        static let signRequest: UInt8 = 13
        static let signResponse: UInt8 = 14
    }

    private let path: String
    /// The most bytes of an answer that are read.
    private static let maximumSize = 256 << 10
    /// How long the agent may take, in seconds: it may ask its owner.
    private static let patience = 120

    init() throws {
        guard let path = ProcessInfo.processInfo.environment["SSH_AUTH_SOCK"], !path.isEmpty else {
            throw CommandFailure(
                "no SSH agent is known: SSH_AUTH_SOCK is not set",
                advice: "Start one and add the key: `eval $(ssh-agent)`, `ssh-add FILE`. Or sign with --key-file.",
                status: .usage)
        }
        self.path = path
    }

    /// Signs with the first of some Ed25519 public keys that the agent has, and returns the text form of the signature.
    func armoredSignature(of message: [UInt8], namespace: String, byOneOf keys: [[UInt8]]) async throws -> String {
        try await NIOThreadPool.singleton.runIfActive {
            let connection = try Connection(self.path)
            defer { connection.close() }
            let held = try Self.identities(try connection.ask([Message.requestIdentities]))
            guard let key = keys.first(where: held.contains).flatMap({ Ed25519PublicKey($0) }) else {
                throw CommandFailure(
                    "the SSH agent has none of your approval keys",
                    advice: "Add it (`ssh-add FILE`); `pinledger access show ID` lists your approval keys.")
            }
            return try SSHSignature(of: message, namespace: namespace, by: key) { data in
                let request =
                    [Message.signRequest] + SSHFields.string(SSHPublicKey.blob(key)) + SSHFields.string(data)
                    + SSHFields.number(0)
                return try Self.signature(try connection.ask(request))
            }.armored
        }
    }

    /// The Ed25519 public keys of an answer; others are ignored.
    private static func identities(_ answer: [UInt8]) throws -> [[UInt8]] {
        var fields = SSHFields(answer)
        guard fields.bytes(1) == [Message.identities], let count = fields.number(), count <= 1000 else {
            throw Self.failure
        }
        var keys: [[UInt8]] = []
        for _ in 0..<count {
            guard let blob = fields.string(), fields.string() != nil else { throw Self.failure }
            if let key = SSHPublicKey.key(of: blob) { keys.append(key.bytes) }
        }
        return keys
    }

    private static func signature(_ answer: [UInt8]) throws -> [UInt8] {
        var fields = SSHFields(answer)
        guard fields.bytes(1) == [Message.signResponse], let blob = fields.string() else {
            throw CommandFailure("the SSH agent did not sign", advice: "Unlock it, or confirm that it may sign.")
        }
        var parts = SSHFields(blob)
        guard parts.string(is: SSHPublicKey.type), let signature = parts.string() else { throw Self.failure }
        return signature
    }

    private static var failure: CommandFailure {
        CommandFailure("the SSH agent's answer cannot be read", advice: "Sign with --key-file or --signature instead.")
    }

    /// A connection to the agent's socket; it blocks the thread that uses it.
    private struct Connection {
        private let socket: Int32

        init(_ path: String) throws {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let room = MemoryLayout.size(ofValue: address.sun_path)
            let name = Array(path.utf8)
            guard name.count < room else {
                throw CommandFailure("the path of the SSH agent's socket is too long: \(path)", status: .usage)
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            self.socket = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var patience = timeval(tv_sec: SSHAgent.patience, tv_usec: 0)
            setsockopt(self.socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
            let connected = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(self.socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard connected == 0 else {
                self.close()
                throw CommandFailure(
                    "the SSH agent at \(path) does not answer",
                    advice: "Start one and set SSH_AUTH_SOCK (`eval $(ssh-agent)`), or sign with --key-file.")
            }
        }

        func close() { Foundation.close(self.socket) }

        /// Sends a message, and waits for the answer.
        func ask(_ message: [UInt8]) throws -> [UInt8] {
            var rest = SSHFields.string(message)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(self.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { throw SSHAgent.failure }
                rest = rest.dropFirst(count)
            }
            var head = SSHFields(try self.read(4))
            guard let count = head.number().map({ Int($0) }), (1...SSHAgent.maximumSize).contains(count) else {
                throw SSHAgent.failure
            }
            return try self.read(count)
        }

        private func read(_ count: Int) throws -> [UInt8] {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: min(count, 16 << 10))
            while bytes.count < count {
                let wanted = min(buffer.count, count - bytes.count)
                let read = buffer.withUnsafeMutableBytes { recv(self.socket, $0.baseAddress, wanted, 0) }
                guard read > 0 else { throw SSHAgent.failure }
                bytes += buffer.prefix(read)
            }
            return bytes
        }
    }
}
