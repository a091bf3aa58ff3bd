import Foundation
import NIOSSL

/// The authorities by which a command verifies the server.
enum ServerTrust: Hashable, Sendable {
    /// Those of this machine.
    case system
    /// Those in a file in PEM, and no others.
    case authorities(file: String)
    /// Those of this machine, and those in a file in PEM: for identity providers, which may be anyone's.
    case systemAnd(file: String)
    /// Any certificate. Only to examine a port: no token is sent there.
    case anything

    /// The flag, then `PINLEDGER_CA_FILE`, then `SSL_CERT_FILE`, which most programs read.
    init(caFile: String?) {
        let file = caFile ?? Environment["PINLEDGER_CA_FILE"] ?? Environment["SSL_CERT_FILE"]
        self = file.map { .authorities(file: $0) } ?? .system
    }

    /// The file with the authorities; nil for those of this machine.
    var file: String? {
        switch self {
        case .authorities(let file), .systemAnd(let file): file
        case .system, .anything: nil
        }
    }

    /// The same authorities, and those of this machine.
    var withSystem: ServerTrust { self.file.map { .systemAnd(file: $0) } ?? .system }

    /// The TLS settings for the server.
    ///
    /// - Throws: A ``CommandFailure`` where the file holds no certificate.
    func configuration() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        switch self {
        case .system: break
        case .anything: configuration.certificateVerification = .none
        case .authorities(let file), .systemAnd(let file):
            let advice =
                "It must hold certificates in PEM. Where no setting or flag names it, PINLEDGER_CA_FILE or SSL_CERT_FILE does."
            let data: Data
            do throws(CommandFailure) { data = try GivenFile.data(file) } catch {
                throw CommandFailure(
                    "the certification authorities cannot be read: \(error.message)", advice: advice,
                    status: error.status)
            }
            guard let authorities = try? NIOSSLCertificate.fromPEMBytes(Array(data)), !authorities.isEmpty else {
                throw CommandFailure("\(file) holds no certificate in PEM", advice: advice, status: .usage)
            }
            if case .systemAnd = self {
                configuration.additionalTrustRoots = [.certificates(authorities)]
            } else {
                configuration.trustRoots = .certificates(authorities)
            }
        }
        return configuration
    }
}
