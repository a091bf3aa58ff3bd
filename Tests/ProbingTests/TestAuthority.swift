import Foundation
import Glibc

/// Certificates made by the openssl command, once for all tests: a root, an intermediate, and leaves below it.
struct TestAuthority {
    struct Failure: Error {
        var output: String
    }

    /// Removed when the process ends.
    let directory: String

    static let shared = Result { try TestAuthority() }

    private static let path = NSTemporaryDirectory() + "probing-tests-\(getpid())"

    private init() throws {
        self.directory = Self.path
        try FileManager.default.createDirectory(atPath: Self.path, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: TestAuthority.path) }
        try self.run(Self.script)
    }

    /// The leaves: rsa, ecdsa, ed25519 and weak for probe.test and the loopback addresses, other for other.test, all by
    /// the intermediate; lonely by itself; stray.pem, whole.pem and backwards.pem, the intermediate with
    /// another one that has nothing to do with it, with the root, and behind the root; namesake, which has the
    /// intermediate's name and another key; long.pem and endless.pem, lists of 15 and of 500 certificates.
    private static let script = """
        authority() {
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.pem" \
                -subj "/CN=$1" -days 3650 "${@:2}"
        }
        leaf() {
            openssl req -new -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$2" "${@:4}"
            openssl x509 -req -in "$1.csr" -CA middle.pem -CAkey middle.key -CAcreateserial -days 30 \
                -extfile <(echo "subjectAltName=$3") -out "$1.pem"
        }
        authority root
        openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout middle.key -out middle.csr \
            -subj /CN=middle
        openssl x509 -req -in middle.csr -CA root.pem -CAkey root.key -CAcreateserial -days 3650 \
            -extfile <(echo basicConstraints=critical,CA:true) -out middle.pem
        names=DNS:probe.test,IP:127.0.0.1,IP:::1
        leaf rsa probe.test "$names" -newkey rsa:2048
        leaf ecdsa probe.test "$names" -newkey ec -pkeyopt ec_paramgen_curve:P-256
        leaf ed25519 probe.test "$names" -newkey ed25519
        leaf weak probe.test "$names" -newkey rsa:1024
        leaf other other.test DNS:other.test -newkey ec -pkeyopt ec_paramgen_curve:P-384
        authority lonely -addext subjectAltName=DNS:probe.test
        openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout stale.key -out stale.csr -subj /CN=stale
        openssl x509 -req -in stale.csr -CA root.pem -CAkey root.key -CAcreateserial -days 3650 \
            -extfile <(echo basicConstraints=critical,CA:true) -out stale.pem
        authority namesake -subj /CN=middle
        cat middle.pem stale.pem > stray.pem
        cat middle.pem root.pem > whole.pem
        cat root.pem middle.pem > backwards.pem
        for _ in {1..14}; do cat middle.pem; done > long.pem
        for _ in {1..500}; do cat middle.pem; done > endless.pem
        """

    private func run(_ script: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-euc", "exec 2>&1; \(script)"]
        process.currentDirectoryURL = URL(fileURLWithPath: self.directory)
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(output: String(decoding: output, as: UTF8.self)) }
    }

    func file(_ name: String) -> String { "\(self.directory)/\(name)" }

    /// A certificate's bytes, read without OpenSSL.
    func der(_ name: String) throws -> [UInt8] {
        let text = try String(contentsOfFile: self.file("\(name).pem"), encoding: .utf8)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("-----BEGIN CERTIFICATE") }.dropFirst()
        let base64 = lines.prefix { !$0.hasPrefix("-----") }.joined()
        guard let data = Data(base64Encoded: base64) else { throw Failure(output: text) }
        return Array(data)
    }
}
