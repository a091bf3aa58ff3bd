import Foundation
import KeyFiles
import Keys
import NIOSSL
import PinWire

/// A certificate that an ACME client has just got, with its key: checked, and not served yet.
struct RenewedCertificate {
    /// The chain in PEM, the host's own certificate first.
    let chain: [UInt8]
    /// The private key in PEM.
    let key: [UInt8]
    let pin: Pin
    /// When the host's certificate ends.
    let end: Timestamp

    /// - Throws: ``CommandFailure`` where a file cannot be read, is not what it should be, or the key is not the certificate's.
    init(chainFile: String, keyFile: String) throws {
        guard let file = SensitiveUpload(file: chainFile) else {
            throw CommandFailure("\(chainFile) cannot be read", status: .usage)
        }
        self.chain = file.contents
        do throws(PrivateFile.Failure) { self.key = try PrivateFile.read(keyFile) } catch {
            throw CommandFailure(error, "the key of the certificate", keyFile, status: .usage)
        }
        guard self.chain.count <= Upload.maximumSize,
            let certificates = try? NIOSSLCertificate.fromPEMBytes(self.chain), let first = certificates.first,
            let info = try? first.extractPublicKey().toSPKIBytes(), let pin = Pin(bytes: sha256(info))
        else { throw CommandFailure("\(chainFile) holds no certificate in PEM", status: .usage) }
        guard let secret = try? NIOSSLPrivateKey(bytes: self.key, format: .pem) else {
            throw CommandFailure("\(keyFile) holds no private key in PEM without a passphrase", status: .usage)
        }
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(secret))
        guard (try? NIOSSLContext(configuration: configuration)) != nil else {
            throw CommandFailure(
                "\(keyFile) is not the key of the certificate in \(chainFile)",
                advice: "Name the two files that the ACME client wrote together.", status: .usage)
        }
        self.pin = pin
        self.end = Timestamp(seconds: Int64(first.notValidAfter))
    }

    /// The files that the last renewal of an ACME client left, as it tells its hooks: certbot, lego and acme.sh, in this order.
    static var told: (chain: String, key: String)? {
        if let lineage = Environment["RENEWED_LINEAGE"] {
            return ("\(lineage)/fullchain.pem", "\(lineage)/privkey.pem")
        }
        for (chain, key) in [("LEGO_CERT_PATH", "LEGO_CERT_KEY_PATH"), ("CERT_FULLCHAIN_PATH", "CERT_KEY_PATH")] {
            if let chain = Environment[chain], let key = Environment[key] { return (chain, key) }
        }
        return nil
    }

    /// The first certificate of a chain, in PEM.
    static func leaf(of chain: [UInt8]) -> String {
        let end = "-----END CERTIFICATE-----"
        let text = String(decoding: chain, as: UTF8.self)
        guard let found = text.range(of: end) else { return text }
        return "\(text[..<found.upperBound])\n"
    }
}
