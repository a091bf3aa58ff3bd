import Foundation
import Keys
import NIOCore
import NIOSSL
import Synchronization

/// The certificate chain and private key that a node's listeners present, from two PEM files.
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
    }

    private let certificateFile: String
    private let keyFile: String
    private let loaded: Mutex<(context: NIOSSLContext, stamp: Stamp)>

    /// Reads both files.
    package init(certificateFile: String, keyFile: String) throws(Unusable) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        // In this order: files that are replaced in between are read again at the next check.
        let stamp = Self.stamp(certificateFile, keyFile)
        self.loaded = Mutex((try Self.load(certificateFile, keyFile), stamp))
    }

    /// The TLS settings of a new connection.
    var current: NIOSSLContext { self.loaded.withLock { $0.context } }

    /// Reads the files again if they were replaced, or in any case with `isForced`. Reads files: not for an event loop.
    ///
    /// - Returns: Whether there is a new pair.
    package func reload(isForced: Bool) throws(Unusable) -> Bool {
        let stamp = Self.stamp(self.certificateFile, self.keyFile)
        guard isForced || self.loaded.withLock({ $0.stamp != stamp }) else { return false }
        // Kept even where the pair is unusable, so that one mistake is reported once.
        self.loaded.withLock { $0.stamp = stamp }
        let context = try Self.load(self.certificateFile, self.keyFile)
        // A later caller has read later files.
        return self.loaded.withLock { loaded in
            guard loaded.stamp == stamp else { return false }
            loaded.context = context
            return true
        }
    }

    private static func stamp(_ certificateFile: String, _ keyFile: String) -> Stamp {
        func date(_ path: String) -> Date? {
            try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        }
        return Stamp(certificate: date(certificateFile), key: date(keyFile))
    }

    private static func load(_ certificateFile: String, _ keyFile: String) throws(Unusable) -> NIOSSLContext {
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
        do { return try NIOSSLContext(configuration: configuration) } catch {
            throw Unusable(
                description: "the key in \(keyFile) does not belong to the certificate in \(certificateFile)",
                advice:
                    "Compare: openssl x509 -in \(certificateFile) -noout -pubkey; openssl pkey -in \(keyFile) -pubout"
            )
        }
    }
}
