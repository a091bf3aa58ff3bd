import Foundation
import Keys
import NIOSSL

/// The certificate with which an operator's commands identify themselves to a server that asks for one, and its key.
struct ClientIdentity: Hashable, Sendable {
    var certificateFile: String
    var keyFile: String

    /// The flags, then `PINLEDGER_CLIENT_CERTIFICATE` and `PINLEDGER_CLIENT_KEY`; nil where neither names a file.
    init?(certificateFile: String?, keyFile: String?) throws {
        let certificate = certificateFile ?? Environment["PINLEDGER_CLIENT_CERTIFICATE"]
        let key = keyFile ?? Environment["PINLEDGER_CLIENT_KEY"]
        switch (certificate, key) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            self.certificateFile = certificate
            self.keyFile = key
        default:
            throw CommandFailure("--client-certificate and --client-key must be given together", status: .usage)
        }
    }

    /// Presents the certificate in handshakes with these settings.
    func apply(to configuration: inout TLSConfiguration) throws {
        let pem = try GivenFile.data(self.certificateFile)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(pem)), !chain.isEmpty else {
            throw CommandFailure(
                "\(self.certificateFile) holds no certificate in PEM",
                advice: "It is named by --client-certificate or PINLEDGER_CLIENT_CERTIFICATE.", status: .usage)
        }
        let secret: [UInt8]
        do throws(PrivateFile.Failure) { secret = try PrivateFile.read(self.keyFile) } catch {
            throw CommandFailure(error, "the key of the certificate", self.keyFile)
        }
        guard let key = try? NIOSSLPrivateKey(bytes: secret, format: .pem) else {
            throw CommandFailure(
                "\(self.keyFile) does not hold a private key in PEM",
                advice:
                    "Keys with a passphrase cannot be used: openssl pkey -in \(self.keyFile) -out NEW removes it.",
                status: .usage)
        }
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
    }
}
