import Foundation
import KeyFiles
import Keys
import NIOSSL
import PinWire

/// A certificate that an ACME client has just got, with its key: checked, and not served yet.
struct RenewedCertificate {
    /// The chain in PEM, the host's own certificate first: encoded here, so that nothing else of a file is in it.
    let chain: [UInt8]
    /// The private key in PEM.
    let key: [UInt8]
    let pin: Pin
    /// The host's own certificate in PEM.
    let leaf: String
    private let facts: CertificateFacts

    /// When the host's certificate ends.
    var end: Timestamp { self.facts.notAfter }

    /// - Throws: ``CommandFailure`` where a file cannot be read, is not what it should be, or the key is not the certificate's.
    init(chainFile: String, keyFile: String) throws {
        guard let file = SensitiveUpload(file: chainFile) else { throw GivenFile.unreadable(chainFile) }
        do throws(PrivateFile.Failure) { self.key = try PrivateFile.read(keyFile) } catch {
            throw CommandFailure(error, "the key of the certificate", keyFile, status: .usage)
        }
        let upload: Upload
        do throws(UploadError) { upload = try file.read() } catch {
            throw CommandFailure("\(chainFile): \(error.descriptionOfFile)", status: .usage)
        }
        guard case .certificate(let facts)? = upload.items.first,
            let certificates = try? NIOSSLCertificate.fromPEMBytes(file.contents),
            certificates.count == upload.items.count, let encodings = try? certificates.map({ try $0.toDERBytes() })
        else { throw CommandFailure("\(chainFile) holds something else than certificates in PEM", status: .usage) }
        guard let secret = try? NIOSSLPrivateKey(bytes: self.key, format: .pem) else {
            throw CommandFailure("\(keyFile) holds no private key in PEM without a passphrase", status: .usage)
        }
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(secret))
        guard (try? NIOSSLContext(configuration: configuration)) != nil else {
            throw CommandFailure(
                "\(keyFile) is not the key of the first certificate in \(chainFile)",
                advice: "Name the two files that the ACME client wrote together.", status: .usage)
        }
        self.facts = facts
        self.pin = facts.key.pin
        let texts = encodings.map(Self.pem)
        self.leaf = texts[0]
        self.chain = Array(texts.joined().utf8)
    }

    /// RFC 7468 section 5.
    private static func pem(_ encoding: [UInt8]) -> String {
        var lines = Base64.encode(encoding)[...]
        var text = "-----BEGIN CERTIFICATE-----\n"
        while !lines.isEmpty {
            text += "\(lines.prefix(64))\n"
            lines = lines.dropFirst(64)
        }
        return text + "-----END CERTIFICATE-----\n"
    }

    /// Refuses a certificate that clients of these hosts would not take now.
    func check(isFor hosts: [String], at now: Timestamp) throws(CommandFailure) {
        guard self.facts.notBefore <= now else {
            throw CommandFailure(
                "the certificate is valid from \(LocalTime.text(self.facts.notBefore.rfc3339)) on", status: .usage)
        }
        guard now < self.end else {
            throw CommandFailure("the certificate ended at \(LocalTime.text(self.end.rfc3339))", status: .usage)
        }
        for host in hosts {
            let host = host.lowercased()
            let parent = host.split(separator: ".", maxSplits: 1).dropFirst().first.map { "*.\($0)" }
            guard self.facts.dnsNames.contains(host) || self.facts.dnsNames.contains(where: { $0 == parent }) else {
                let names = self.facts.dnsNames.prefix(10).joined(separator: ", ")
                throw CommandFailure(
                    "the certificate is not for \(host)",
                    advice: "It is for \(names.isEmpty ? "no name" : names). Name its hosts, or another certificate.",
                    status: .usage)
            }
        }
    }

    /// The files that the last renewal of an ACME client left, as it tells its hooks: certbot, lego and acme.sh, in this order.
    static var told: Deployment.Source? {
        if let lineage = Environment["RENEWED_LINEAGE"] {
            return .init(chain: "\(lineage)/fullchain.pem", key: "\(lineage)/privkey.pem")
        }
        for (chain, key) in [("LEGO_CERT_PATH", "LEGO_CERT_KEY_PATH"), ("CERT_FULLCHAIN_PATH", "CERT_KEY_PATH")] {
            if let chain = Environment[chain], let key = Environment[key] { return .init(chain: chain, key: key) }
        }
        return nil
    }
}
