import Foundation
import Probing

/// `openssl s_server` on a port of its own, which answers one connection after the other.
final class OpenSSLServer {
    let port: Int
    private let process = Process()
    private let input = Pipe()

    /// - Parameters:
    ///   - leaf: The name of its certificate among those of ``TestAuthority``.
    ///   - arguments: More of s_server's; `-cert_chain` is the intermediate by default.
    init(
        _ leaf: String, chain: String? = "middle.pem", address: String = "127.0.0.1", port: Int = 0,
        _ arguments: [String] = []
    ) throws {
        let authority = try TestAuthority.shared.get()
        self.process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        self.process.currentDirectoryURL = URL(fileURLWithPath: authority.directory)
        self.process.arguments =
            ["s_server", "-accept", "\(address):\(port)", "-cert", "\(leaf).pem", "-key", "\(leaf).key"]
            + (chain.map { ["-cert_chain", $0] } ?? []) + arguments
        let output = Pipe()
        self.process.standardOutput = output
        self.process.standardError = output
        // Its end would end the server.
        self.process.standardInput = self.input
        try self.process.run()
        // "ACCEPT", with the address where the port was 0.
        var text = ""
        while !text.contains("ACCEPT") || text.last != "\n" {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw TestAuthority.Failure(output: text) }
            text += String(decoding: more, as: UTF8.self)
        }
        let printed = text.split(separator: "\n").last { $0.contains("ACCEPT") }?.split(separator: ":").last
        guard let port = port == 0 ? printed.flatMap({ Int($0) }) : port else {
            throw TestAuthority.Failure(output: text)
        }
        self.port = port
        // What it says from now on fills no pipe.
        output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    deinit {
        kill(self.process.processIdentifier, SIGKILL)
        self.process.waitUntilExit()
    }

    func target(_ host: String = "probe.test") throws -> ProbeTarget { try ProbeTarget("\(host):\(self.port)") }
}
