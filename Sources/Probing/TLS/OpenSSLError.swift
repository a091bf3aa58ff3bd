import COpenSSL

/// One entry of OpenSSL's error queue, of which each thread has its own.
struct OpenSSLError {
    private let code: UInt

    /// Takes the whole queue, so that later calls find none of it.
    static func takeAll() -> [OpenSSLError] {
        var errors: [OpenSSLError] = []
        while case let code = ERR_get_error(), code != 0 { errors.append(OpenSSLError(code: code)) }
        return errors
    }

    /// The alert that the other side sent (RFC 8446 section 6), if that is what ended the connection.
    var receivedAlert: Int? {
        guard ERR_GET_LIB(self.code) == ERR_LIB_SSL, ERR_GET_REASON(self.code) >= SSL_AD_REASON_OFFSET else {
            return nil
        }
        return Int(ERR_GET_REASON(self.code) - SSL_AD_REASON_OFFSET)
    }

    /// A message was longer than its kind allows.
    var isExcessiveSize: Bool {
        ERR_GET_LIB(self.code) == ERR_LIB_SSL
            && [SSL_R_EXCESSIVE_MESSAGE_SIZE, SSL_R_DATA_LENGTH_TOO_LONG].contains(ERR_GET_REASON(self.code))
    }

    /// In OpenSSL's words: `bad signature`.
    var reason: String {
        guard let text = unsafe ERR_reason_error_string(self.code) else { return "error \(self.code)" }
        return unsafe String(cString: text)
    }
}
