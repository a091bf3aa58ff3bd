package import Addresses
import COpenSSL
package import PinWire

/// One TLS handshake as a client, as bytes in and bytes out: it has no socket and no clock.
///
/// The order of calls is ``begin()``, then ``receive(_:)`` for what arrives, until a step has an outcome; the bytes of
/// a step are sent whatever the outcome. Where the connection ends before, ``end(_:)`` gives what is known by then.
///
/// It trusts no certificate. A chain counts as served once the host has proved that it has the leaf's key, even if it
/// then ends the handshake because this client has no certificate of its own.
@safe package final class Handshake {
    package struct Step {
        /// The bytes to send to the host.
        package var send: [UInt8] = []
        /// Nil as long as more bytes have to come.
        package var outcome: Result<PresentedChain, ProbeFailure>?
    }

    /// The most bytes that a handshake reads. The longest honest ones have some 20 kB, most of it the chain.
    package static let maximumBytes = 256 * 1024

    // @safe class, invariant: from `init` to `deinit` only this object uses the connection, which owns both BIOs.
    private let connection: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private let hasTrustStore: Bool
    private var received = 0

    /// - Parameters:
    ///   - name: The name for SNI, and for verification.
    ///   - address: Verified if there is no name.
    ///   - applicationProtocols: Offered by ALPN, most wanted first; each 1 to 255 bytes. None: not offered.
    ///   - time: When the certificates have to be valid for ``PresentedChain/verification``.
    package init(
        context: TLSContext, choice: KeyChoice = .any, name: String?, address: IPAddress? = nil,
        applicationProtocols: [String] = [], time: Timestamp
    ) throws(TLSUnavailable) {
        ERR_clear_error()
        guard let connection = unsafe context.makeConnection(choice) else {
            throw TLSUnavailable.takingErrors()
        }
        guard let incoming = unsafe BIO_new(BIO_s_mem()) else {
            unsafe SSL_free(connection)
            throw TLSUnavailable.takingErrors()
        }
        guard let outgoing = unsafe BIO_new(BIO_s_mem()) else {
            unsafe BIO_free(incoming)
            unsafe SSL_free(connection)
            throw TLSUnavailable.takingErrors()
        }
        unsafe SSL_set_bio(connection, incoming, outgoing)
        unsafe (self.connection, self.incoming, self.outgoing) = unsafe (connection, incoming, outgoing)
        self.hasTrustStore = context.hasTrustStore
        unsafe SSL_set_connect_state(connection)
        // From here on `deinit` frees everything.
        guard self.configure(name, address, applicationProtocols, time) else { throw TLSUnavailable.takingErrors() }
    }

    deinit {
        unsafe SSL_free(self.connection)
    }

    private func configure(
        _ name: String?, _ address: IPAddress?, _ applicationProtocols: [String], _ time: Timestamp
    ) -> Bool {
        let parameters = unsafe SSL_get0_param(self.connection)
        unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(time.seconds))
        // The level of Debian and of today's clients: keys of 112 bits of security, no SHA-1.
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        unsafe X509_VERIFY_PARAM_set_depth(parameters, CInt(TLSContext.maximumCertificates))
        unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        var isReady = true
        if let name {
            isReady = unsafe tls_set_server_name(self.connection, name) == 1
            isReady = unsafe isReady && SSL_set1_host(self.connection, name) == 1
        } else if let address {
            isReady = unsafe X509_VERIFY_PARAM_set1_ip(parameters, address.bytes, address.bytes.count) == 1
        }
        if !applicationProtocols.isEmpty {
            let list = applicationProtocols.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
            // The one function that answers 0 on success.
            isReady = unsafe isReady && SSL_set_alpn_protos(self.connection, list, UInt32(list.count)) == 0
        }
        return isReady
    }

    /// The first message to send.
    package func begin() -> Step { self.proceed() }

    /// Takes bytes from the host. After an outcome it MUST NOT be called again.
    package func receive(_ bytes: UnsafeRawBufferPointer) -> Step {
        let start = self.received
        self.received += bytes.count
        if let failure = unsafe ClearText.failure(in: bytes, at: start) { return Step(outcome: .failure(failure)) }
        guard self.received <= Self.maximumBytes else {
            let reason = "the host sent more than \(Self.maximumBytes / 1024) KiB without completing the handshake"
            return Step(outcome: .failure(ProbeFailure(.handshake, .tooLarge, reason)))
        }
        // The BIO is in memory, so it takes all bytes or, out of memory, none; in that case the handshake waits in vain
        // for the rest.
        unsafe _ = BIO_write(self.incoming, bytes.baseAddress, CInt(bytes.count))
        return self.proceed()
    }

    /// The result as known when the connection ended, or was given up, for that reason.
    package func end(_ failure: ProbeFailure) -> Result<PresentedChain, ProbeFailure> {
        guard self.signature != nil else { return .failure(failure) }
        return self.served(incompletion: failure.reason)
    }

    private func proceed() -> Step {
        ERR_clear_error()
        let status = unsafe SSL_do_handshake(self.connection)
        var outcome: Result<PresentedChain, ProbeFailure>?
        if status == 1 {
            outcome = self.served(incompletion: nil)
            // Sends a closure alert, so that the host does not note a truncated connection.
            unsafe SSL_shutdown(self.connection)
        } else if unsafe SSL_get_error(self.connection, status) != SSL_ERROR_WANT_READ {
            outcome = self.failure(OpenSSLError.takeAll())
        }
        ERR_clear_error()
        return Step(send: self.takeOutgoing(), outcome: outcome)
    }

    private func failure(_ errors: [OpenSSLError]) -> Result<PresentedChain, ProbeFailure> {
        if let alert = errors.lazy.compactMap(\.receivedAlert).first {
            let name = unsafe SSL_alert_desc_string_long(CInt(alert)).map { unsafe String(cString: $0) } ?? "unknown"
            return self.end(
                ProbeFailure(.handshake, .handshakeAlert, "the host ended the handshake with alert \(alert), \(name)"))
        }
        if errors.contains(where: \.isExcessiveSize) {
            let limit = TLSContext.maximumChainBytes
            let reason = "the host sent a longer message than TLS needs; a chain may have \(limit) bytes"
            return .failure(ProbeFailure(.handshake, .tooLarge, reason))
        }
        let reason = errors.first?.reason ?? "no reason known"
        return .failure(ProbeFailure(.handshake, .handshakeFailed, "the handshake failed: \(reason)"))
    }

    private func takeOutgoing() -> [UInt8] {
        let count = unsafe BIO_ctrl_pending(self.outgoing)
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            written = unsafe max(0, Int(BIO_read(self.outgoing, buffer.baseAddress, CInt(count))))
        }
    }

    // MARK: What the host showed

    private func served(incompletion: String?) -> Result<PresentedChain, ProbeFailure> {
        // Owned by the connection.
        let chain = unsafe SSL_get_peer_cert_chain(self.connection)
        let count = unsafe chain == nil ? 0 : Int(tls_chain_count(chain))
        guard count > 0, let leaf = unsafe tls_chain_certificate(chain, 0) else {
            return .failure(ProbeFailure(.handshake, .handshakeFailed, "the host showed no certificate"))
        }
        guard count <= TLSContext.maximumCertificates else {
            let reason = "the host sent \(count) certificates; a chain may have \(TLSContext.maximumCertificates)"
            return .failure(ProbeFailure(.handshake, .tooLarge, reason))
        }
        let verification = self.verification
        guard let certificates = unsafe Self.encoded(chain, first: count),
            let path = unsafe verification == .valid
                ? Self.encoded(SSL_get0_verified_chain(self.connection))
                : Self.encoded(chain, first: Self.linkedCount(chain, count))
        else { return .failure(ProbeFailure(.handshake, .handshakeFailed, "a certificate cannot be encoded")) }
        return .success(
            PresentedChain(
                certificates: certificates,
                path: path,
                keyKind: unsafe Self.keyKind(of: leaf),
                version: unsafe SSL_get_version(self.connection).map { unsafe String(cString: $0) } ?? "",
                cipher: unsafe SSL_get_current_cipher(self.connection).flatMap {
                    unsafe SSL_CIPHER_standard_name($0).map { unsafe String(cString: $0) }
                },
                signature: self.signature,
                applicationProtocol: self.applicationProtocol,
                verification: verification,
                incompletion: incompletion
            ))
    }

    /// Known once the host's signature over this handshake was verified: OpenSSL ends the handshake where it is bad.
    private var signature: SignatureKind? {
        var kind: CInt = 0
        guard unsafe SSL_get_peer_signature_type_nid(self.connection, &kind) == 1 else { return nil }
        return switch kind {
        case NID_rsaEncryption: .rsaPKCS1
        case NID_rsassaPss: .rsaPSS
        case NID_X9_62_id_ecPublicKey: .ecdsa
        case NID_ED25519: .ed25519
        case NID_ED448: .ed448
        default: nil
        }
    }

    private var applicationProtocol: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(self.connection, &start, &count)
        guard count > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    private var verification: Verification {
        guard self.hasTrustStore else { return .unknown }
        let code = unsafe SSL_get_verify_result(self.connection)
        guard code != X509_V_OK else { return .valid }
        return unsafe .invalid(code: code, reason: String(cString: X509_verify_cert_error_string(code)))
    }

    private static func keyKind(of certificate: OpaquePointer) -> KeyKind {
        guard let key = unsafe X509_get0_pubkey(certificate) else { return .other }
        return switch unsafe EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA, EVP_PKEY_RSA_PSS: .rsa
        case EVP_PKEY_EC: .ecdsa
        case EVP_PKEY_ED25519, EVP_PKEY_ED448: .eddsa
        default: .other
        }
    }

    /// How many certificates lead on from the leaf, each of them the issuer of the one before it.
    private static func linkedCount(_ chain: OpaquePointer?, _ count: Int) -> Int {
        var linked = 1
        while linked < count, let subject = unsafe tls_chain_certificate(chain, CInt(linked - 1)),
            let issuer = unsafe tls_chain_certificate(chain, CInt(linked)),
            unsafe X509_check_issued(issuer, subject) == X509_V_OK, let key = unsafe X509_get0_pubkey(issuer),
            unsafe X509_verify(subject, key) == 1
        {
            linked += 1
        }
        // An error in the rest is not an error of the handshake.
        ERR_clear_error()
        return linked
    }

    /// The first certificates of a chain, or all of them, in DER; nil if one cannot be encoded, or there is none.
    private static func encoded(_ chain: OpaquePointer?, first limit: Int? = nil) -> [[UInt8]]? {
        guard let chain = unsafe chain else { return nil }
        let count = unsafe limit ?? Int(tls_chain_count(chain))
        let certificates = (0..<count).compactMap { index in
            unsafe Self.encoded(certificate: tls_chain_certificate(chain, CInt(index)))
        }
        return certificates.isEmpty || certificates.count < count ? nil : certificates
    }

    private static func encoded(certificate: OpaquePointer?) -> [UInt8]? {
        let length = unsafe i2d_X509(certificate, nil)
        guard length > 0 else { return nil }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, written in
            // OpenSSL moves the pointer on.
            var start = buffer.baseAddress
            written = unsafe max(0, Int(i2d_X509(certificate, &start)))
        }
    }
}
