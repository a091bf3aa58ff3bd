internal import COpenSSL

/// The identifier of a certificate at its authority's service for renewal information (RFC 9773, section 4.1).
public enum RenewalIdentifier {
    /// The identifier: the authority's key identifier and the serial number, each in base64url without padding, with a dot between.
    ///
    /// - Parameter der: A certificate in DER.
    /// - Returns: Nil for what is no certificate, and for one that does not name its authority's key, or has a negative or no serial number.
    public static func text(of der: [UInt8]) -> String? {
        guard let certificate = Certificate.decode(der[...])?.0 else { return nil }
        return certificate.renewalIdentifier
    }
}
