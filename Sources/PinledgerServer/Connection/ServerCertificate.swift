import Foundation
import Keys
import NIOCore
import NIOSSL
import Synchronization

/// The certificate chain and private key that a node's listeners present, from two PEM files, and the authorities whose
/// certificates operators must present, from a third.
///
/// Every new connection gets the pair that was read last; existing connections keep theirs. So a renewed certificate is
/// used without a restart. A new pair that is unusable leaves the old one in place.
package final class ServerCertificate: Sendable {
    /// Why a pair of files cannot be used, as a sentence, and what to do about it.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
        package let advice: String?
    }

    /// When the files were written, to notice a replacement.
    private struct Stamp: Hashable {
        var certificate: Date?
        var key: Date?
        var authorities: Date?
    }

    private struct Files: Sendable {
        var certificate: String
        var key: String
        /// Nil where operators need no certificate.
        var operatorAuthorities: String?

        var stamp: Stamp {
            func date(_ path: String) -> Date? {
                try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            }
            return Stamp(
                certificate: date(self.certificate), key: date(self.key),
                authorities: self.operatorAuthorities.flatMap(date))
        }
    }

    /// The TLS settings of new connections.
    private struct Contexts: Sendable {
        var validity: Validity
        var clients: NIOSSLContext
        /// Those of the operators' own listener.
        var operators: NIOSSLContext
    }

    /// The time in which the server's own certificate is valid, in seconds since 1970.
    package struct Validity: Hashable, Sendable {
        package var begin: Int64
        package var end: Int64
    }

    private let files: Files
    private let loaded: Mutex<(contexts: Contexts, stamp: Stamp)>

    /// Reads the files.
    ///
    /// - Parameter operatorAuthorities: PEM of the authorities of operators' certificates. The operators' own listener then takes no
    ///   connection without a certificate that one of them has issued (RFC 8446 section 4.3.2); nil where operators need none.
    package init(certificateFile: String, keyFile: String, operatorAuthorities: String? = nil) throws(Unusable) {
        self.files = Files(certificate: certificateFile, key: keyFile, operatorAuthorities: operatorAuthorities)
        // In this order: files that are replaced in between are read again at the next check.
        let stamp = self.files.stamp
        self.loaded = Mutex((try Self.load(self.files), stamp))
    }

    /// The validity of the certificate that new connections get.
    package var validity: Validity { self.loaded.withLock { $0.contexts.validity } }

    /// The TLS settings of a new connection to a listener.
    func current(of content: Server.Listener.Content) -> NIOSSLContext {
        self.loaded.withLock { content == .admin ? $0.contexts.operators : $0.contexts.clients }
    }

    /// Reads the files again if they were replaced, or in any case with `isForced`. Reads files: not for an event loop.
    ///
    /// - Returns: Whether there is a new pair.
    package func reload(isForced: Bool) throws(Unusable) -> Bool {
        let stamp = self.files.stamp
        guard isForced || self.loaded.withLock({ $0.stamp != stamp }) else { return false }
        // Kept even where the pair is unusable, so that one mistake is reported once.
        self.loaded.withLock { $0.stamp = stamp }
        let contexts = try Self.load(self.files)
        // A later caller has read later files.
        return self.loaded.withLock { loaded in
            guard loaded.stamp == stamp else { return false }
            loaded.contexts = contexts
            return true
        }
    }

    private static func load(_ files: Files) throws(Unusable) -> Contexts {
        let (certificateFile, keyFile) = (files.certificate, files.key)
        let chain: [NIOSSLCertificate]
        guard let pem = FileManager.default.contents(atPath: certificateFile) else {
            throw Unusable(description: "the TLS certificate cannot be read from \(certificateFile)", advice: nil)
        }
        do { chain = try NIOSSLCertificate.fromPEMBytes(Array(pem)) } catch {
            throw Unusable(
                description: "\(certificateFile) does not hold a certificate in PEM",
                advice: "It must hold the server's certificate first, then the intermediate ones."
            )
        }
        let secret: [UInt8]
        do { secret = try PrivateFile.read(keyFile) } catch {
            let (message, advice) = error.text("the TLS key", keyFile)
            throw Unusable(description: message, advice: advice)
        }
        let key: NIOSSLPrivateKey
        do { key = try NIOSSLPrivateKey(bytes: secret, format: .pem) } catch {
            throw Unusable(
                description: "\(keyFile) does not hold a private key in PEM",
                advice: "Keys with a passphrase cannot be used: openssl pkey -in \(keyFile) -out NEW removes it."
            )
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2", "http/1.1"]
        // How long a client may take for the TLS closure.
        configuration.shutdownTimeout = .seconds(1)
        let clients: NIOSSLContext
        do { clients = try NIOSSLContext(configuration: configuration) } catch {
            throw Unusable(
                description: "the key in \(keyFile) does not belong to the certificate in \(certificateFile)",
                advice:
                    "Compare: openssl x509 -in \(certificateFile) -noout -pubkey; openssl pkey -in \(keyFile) -pubout"
            )
        }
        // A certificate of this key is there: the context could not have been made without.
        let validity = Validity(
            begin: Int64(chain.first?.notValidBefore ?? 0), end: Int64(chain.first?.notValidAfter ?? 0))
        guard let authorities = files.operatorAuthorities else {
            return Contexts(validity: validity, clients: clients, operators: clients)
        }
        guard let pem = FileManager.default.contents(atPath: authorities),
            let roots = try? NIOSSLCertificate.fromPEMBytes(Array(pem)), !roots.isEmpty
        else {
            throw Unusable(
                description: "\(authorities) cannot be read, or holds no certificate in PEM",
                advice: "It must hold the certificates of the authorities that issue operators' certificates.")
        }
        // Without a host name to compare with: any certificate of these authorities is an operator's.
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates(roots)
        do {
            return Contexts(
                validity: validity, clients: clients, operators: try NIOSSLContext(configuration: configuration))
        } catch {
            throw Unusable(description: "the authorities in \(authorities) cannot be used", advice: nil)
        }
    }
}
