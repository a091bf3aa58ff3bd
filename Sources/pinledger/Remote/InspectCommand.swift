import ArgumentParser
import Foundation
import KeyFiles
import PinWire
import PinledgerServer

extension PinCommands {
    /// Shows the pins and the other hashes of a file's contents. Needs no server.
    struct Inspect: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "inspect",
            abstract: "Show the pins and facts of a certificate, key, signing request or bundle. Needs no server.",
            discussion: """
                pinledger pin inspect server.pem

                Reads PEM, DER, PKCS#7, PKCS#12, JWK, and pins in any spelling. Private keys are refused.
                """
        )
        @Argument(help: "The file to read.") var file: String
        @Option(help: ArgumentHelp("File with the password of a PKCS#12 file.", valueName: "file"))
        var passwordFile: String?
        @Option(name: [.short, .long], help: ArgumentHelp("Form of the output.", valueName: "form"))
        var output: OutputForm = .table

        func run() throws {
            var password: String?
            if let file = self.passwordFile {
                let data = try GivenFile.data(file)
                password = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
            }
            let (_, upload) = try KeyInput.read(self.file, password: password)
            if !self.output.isTable {
                return Console.print(JSON.object(["items": .array(upload.items.map(\.json))]), self.output)
            }
            for (place, item) in upload.items.enumerated() {
                if place > 0 { Console.print("") }
                for line in Self.lines(of: item) { Console.print(line) }
            }
        }

        private static func lines(of item: Upload.Item) -> [String] {
            switch item {
            case .certificate(let certificate): Self.lines(of: certificate)
            case .publicKey(let key): ["public key"] + Self.lines(of: key)
            case .request(let request):
                [
                    "signing request  \(request.subject)",
                    "  names            \(request.dnsNames.joined(separator: ", "))",
                ]
                    + Self.lines(of: request.key)
            case .pin(let pin, let spelling):
                ["pin              \(pin)"]
                    + (spelling.isAmbiguous
                        ? ["  Or the fingerprint of a certificate: compare with the certificate itself."] : [])
            case .fingerprint(let bytes):
                ["fingerprint      \(Hex.encode(bytes)), which is no pin: inspect the certificate itself"]
            }
        }

        private static func lines(of certificate: CertificateFacts) -> [String] {
            [
                "certificate      \(certificate.subject)",
                "  issuer           \(certificate.issuer)\(certificate.isSelfSigned ? " (self-signed)" : "")",
                "  names            \((certificate.dnsNames + certificate.ipAddresses).joined(separator: ", "))",
                "  valid            \(certificate.notBefore) to \(certificate.notAfter)",
                "  serial           \(certificate.serial)\(certificate.isCA ? ", an authority's" : "")",
                "  certificate SHA-256  \(Hex.encode(certificate.sha256))",
                "  certificate SHA-1    \(Hex.encode(certificate.sha1))",
            ] + Self.lines(of: certificate.key)
        }

        /// The reason of a key that all clients refuse is among its weaknesses.
        private static func lines(of acceptance: KeyAcceptance) -> [String] {
            guard case .inPlaces(let reason) = acceptance else { return [] }
            return ["  REFUSED BY SOME  the key \(reason)"]
        }

        private static func lines(of key: KeyFacts) -> [String] {
            [
                "  pin              \(key.pin)\(key.weaknesses.isEmpty ? "   <- this is what clients pin" : "")",
                "  key              \(key.algorithm) \(key.curve ?? "\(key.bits) bits")",
                "  raw key SHA-256  \(Hex.encode(key.rawKeySHA256))",
                "  SPKI SHA-512     \(Hex.encode(key.spkiSHA512))",
            ] + key.weaknesses.map { "  WEAK             the key \($0)" } + Self.lines(of: key.acceptance)
        }
    }
}
