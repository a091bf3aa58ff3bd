import COpenSSL
import Glibc

/// The certification authorities this machine trusts, read once.
///
/// Reading takes tens of milliseconds and a file: never on a cooperative thread or an event loop. Later changes of the
/// system's store take effect after a restart.
@safe package final class TrustStore: Sendable {
    // @safe class and nonisolated(unsafe), invariant: the store is filled before the object is handed out and never
    // written to afterwards; it has no directory from which OpenSSL would add to it, and counts its references itself.
    nonisolated(unsafe) let store: OpaquePointer
    /// Whether no authority could be read, so that no chain can be judged.
    package let isEmpty: Bool

    private init(store: OpaquePointer, isEmpty: Bool) {
        unsafe self.store = store
        self.isEmpty = isEmpty
    }

    deinit {
        unsafe X509_STORE_free(self.store)
    }

    /// Reads the authorities, in PEM, from a file, or from the first existing one of the systems' usual files.
    ///
    /// - Throws: ``TLSUnavailable`` if memory is short. A file that does not exist makes the store empty.
    package static func load(file: String? = nil) throws(TLSUnavailable) -> TrustStore {
        guard let store = unsafe X509_STORE_new() else { throw TLSUnavailable.takingErrors() }
        let candidates = if let file { [file] } else { Self.systemFiles }
        let isLoaded = candidates.contains { unsafe X509_STORE_load_file(store, $0) == 1 }
        ERR_clear_error()
        return unsafe TrustStore(store: store, isEmpty: !isLoaded)
    }

    /// OpenSSL's own choice (Debian, Alpine, and systems that set `SSL_CERT_FILE`), then Fedora's.
    private static var systemFiles: [String] {
        var files: [String] = []
        if let variable = unsafe getenv("SSL_CERT_FILE") {
            unsafe files.append(String(cString: variable))
        }
        if let file = unsafe X509_get_default_cert_file() {
            unsafe files.append(String(cString: file))
        }
        return files + ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]
    }
}

/// OpenSSL could not set up TLS at all; the text is OpenSSL's.
package struct TLSUnavailable: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    /// Empties this thread's error queue into one.
    static func takingErrors() -> TLSUnavailable {
        let reasons = OpenSSLError.takeAll().map(\.reason).joined(separator: "; ")
        return TLSUnavailable(description: reasons.isEmpty ? "OpenSSL is out of memory" : reasons)
    }
}
