package import PinWire

/// A place within an upload.
package enum UploadPlace: Hashable, Sendable {
    /// The whole upload.
    case whole
    /// A PEM block, counted from 1, with its label.
    case block(Int, label: String)
    /// An entry of a list of texts or keys, counted from 1.
    case entry(Int)
    /// A certificate of a PKCS#7 or PKCS#12 file, counted from 1.
    case certificate(Int)

    /// As the beginning of a sentence.
    var beginning: String {
        switch self {
        case .whole: "What was sent"
        case .block(let number, let label): "Block \(number) (\(label))"
        case .entry(let number): "Entry \(number)"
        case .certificate(let number): "Certificate \(number) of the file"
        }
    }

    /// The same of a file that was read where it lies.
    var beginningInFile: String { self == .whole ? "The file" : self.beginning }
}

/// The kind of object that the bytes were read as.
package enum UploadKind: String, Hashable, Sendable {
    case certificate
    case publicKey = "public key"
    case request = "certificate request"
    case message = "PKCS#7 file"
    case keyStore = "PKCS#12 file"
    case pem = "PEM block"
    case json = "JSON text"
    case jsonWebKey = "JSON Web Key"
}

/// Why an upload is refused: what was found, and what to send instead.
package enum UploadError: Error, Hashable, Sendable {
    case empty
    case tooLarge(byteCount: Int)
    case tooMany
    /// A private key, in the clear or not. `form` is its name: `EC PRIVATE KEY`, `PKCS#8`.
    case privateKey(UploadPlace, form: String)
    case sshKey
    case pgp
    case markup
    case javaKeyStore
    case utf16
    case revocationList(UploadPlace)
    /// No known form.
    case unknownBinary(UploadPlace)
    /// A PEM block from which no pin can be made.
    case unknownBlock(UploadPlace)
    /// PEM blocks of parameters and nothing else.
    case onlyParameters
    case malformed(UploadPlace, kind: UploadKind, detail: String)
    case trailingBytes(UploadPlace, count: Int)
    /// OpenSSL reads no keys of this algorithm, with these parameters or of this size.
    case unreadableKey(UploadPlace, algorithm: String)
    case unreadableTime(UploadPlace)
    /// A request whose signature was not made with its key.
    case unprovenRequest(UploadPlace)
    /// A PKCS#7 or PKCS#12 file without certificates.
    case noCertificates(UploadPlace, kind: UploadKind)
    case passwordNeeded(UploadPlace)
    case wrongPassword(UploadPlace)
    case outdatedCipher(UploadPlace, name: String)
    /// A file whose passphrase takes more work to try than is allowed.
    case tooManyIterations(UploadPlace)
    /// A pin of a hash that is not SHA-256.
    case otherHash(UploadPlace, name: String)
    /// A text that is meant as a pin.
    case malformedPin(UploadPlace, Pin.Malformed)
    /// Hexadecimal digits in a number that fits no known hash.
    case malformedHex(UploadPlace, byteCount: Int)
    /// A text of no known kind.
    case unknownText(UploadPlace)
}

extension UploadError: CustomStringConvertible {
    /// Two or three sentences for the operator. They never quote the upload, since it may have been secret.
    package var description: String {
        switch self {
        case .empty: "Nothing was sent. \(Self.advice)"
        case .tooLarge(let byteCount):
            "\(byteCount) bytes were sent, and at most \(Upload.maximumSize) are read. Send the certificates of one "
                + "host at a time."
        case .tooMany:
            "More than \(Upload.maximumCount) certificates, keys or pins were sent. Send the certificates of one host "
                + "at a time rather than a whole bundle of authorities."
        case .privateKey(let place, let form):
            Self.privateKey(
                place, form, "Nothing of the upload was kept, and the bytes that were read are overwritten.")
        case .sshKey:
            "This is an OpenSSH public key, which TLS servers do not use. \(Self.advice)"
        case .pgp: "This is a PGP key or message, which TLS servers do not use. \(Self.advice)"
        case .markup:
            "This is HTML or XML, perhaps the page of an error or of a log-in that was saved in place of the file. "
                + Self.advice
        case .javaKeyStore:
            "This is a Java key store, which may hold private keys. Nothing of it was kept. Send the certificate alone: "
                + "keytool -exportcert -rfc -keystore FILE -alias NAME."
        case .utf16: "This text is in UTF-16, as some Windows programs save it. Save it in UTF-8 or ASCII."
        case .revocationList(let place):
            "\(place.beginning) is a certificate revocation list, which has no key. \(Self.advice)"
        case .unknownBinary(let place):
            "\(place.beginning) is binary and neither a certificate, a public key, a certificate request, PKCS#7 nor "
                + "PKCS#12. \(Self.advice)"
        case .unknownBlock(let place):
            "\(place.beginning) contains no certificate, key or signing request. \(Self.advice)"
        case .onlyParameters:
            "The upload has only key parameters, and no key. \(Self.advice)"
        case .malformed(let place, let kind, let detail):
            "\(place.beginning) is a damaged \(kind.rawValue) (\(detail)). Copy all of it "
                + "from its source again."
        case .trailingBytes(let place, let count):
            "\(place.beginning) continues for \(count) bytes after its end. Send several certificates as PEM, one block "
                + "after the other."
        case .unreadableKey(let place, let algorithm):
            "\(place.beginning) has a key that OpenSSL cannot read (\(algorithm)). Send one with an RSA key, or an EC "
                + "key on P-256 or P-384."
        case .unreadableTime(let place):
            "\(place.beginning) has an invalid validity time. It is damaged or was made by a program that does not "
                + "follow RFC 5280: have it issued again."
        case .unprovenRequest(let place):
            "\(place.beginning) is a certificate request that is not signed with its own key, so nothing shows that "
                + "its sender has that key. Make it again: openssl req -new -key FILE."
        case .noCertificates(let place, let kind):
            "\(place.beginning) is a \(kind.rawValue) without certificates. \(Self.advice)"
        case .passwordNeeded(let place):
            "\(place.beginning) is a PKCS#12 file under a password. Send the password too, or the certificates alone: "
                + "openssl pkcs12 -in FILE -nokeys."
        case .wrongPassword(let place):
            "\(place.beginning) is a PKCS#12 file that does not open with this password. Send the right one, or the "
                + "certificates alone: openssl pkcs12 -in FILE -nokeys."
        case .outdatedCipher(let place, let name):
            "\(place.beginning) is a PKCS#12 file under a cipher that is no longer in use (\(name)). Send the "
                + "certificates alone: openssl pkcs12 -legacy -in FILE -nokeys."
        case .tooManyIterations(let place):
            "\(place.beginning) is a PKCS#12 file whose password takes too much work to try. Send the certificates "
                + "alone: openssl pkcs12 -in FILE -nokeys."
        case .otherHash(let place, let name):
            "\(place.beginning) is a pin of \(name), and pins are of SHA-256. Send the certificate or the public key."
        case .malformedPin(let place, let reason):
            "\(place.beginning) \(WrittenPin.Malformed.digest(reason))."
        case .malformedHex(let place, let byteCount):
            "\(place.beginning) is \(byteCount) bytes in hexadecimal. A pin has 32 bytes, and a certificate's SHA-1 "
                + "fingerprint 20. Copy it again, or send the certificate."
        case .unknownText(let place):
            "\(place.beginning) is a text that is neither a certificate, a key nor a pin. \(Self.advice)"
        }
    }

    /// The same for an upload within a larger text, whose other copies are freed and not overwritten.
    package var descriptionWithinText: String {
        guard case .privateKey(let place, let form) = self else { return self.description }
        return Self.privateKey(place, form, "Nothing of the upload was kept.")
    }

    /// The same for a file that was read where it lies: nothing was sent.
    package var descriptionOfFile: String {
        switch self {
        case .empty: "The file is empty. \(Self.advice)"
        case .privateKey(let place, let form):
            "\(place.beginningInFile) is or holds a private key (\(form)). Nothing was sent. \(Self.publicHalf)"
        case .tooLarge(let byteCount):
            "The file has \(byteCount) bytes, and at most \(Upload.maximumSize) are read. Give the certificates of one "
                + "host at a time."
        case .tooMany:
            "The file has more than \(Upload.maximumCount) certificates, keys or pins. Give the certificates of one host "
                + "at a time rather than a whole bundle of authorities."
        default:
            // Others begin with their place, if they have one, and do not say that something was sent.
            self.description.hasPrefix(UploadPlace.whole.beginning)
                ? UploadPlace.whole.beginningInFile + self.description.dropFirst(UploadPlace.whole.beginning.count)
                : self.description
        }
    }

    private static func privateKey(_ place: UploadPlace, _ form: String, _ fate: String) -> String {
        "\(place.beginning) is or holds a private key (\(form)). \(fate) \(Self.publicHalf) "
            + "If it came here over a connection or through hands that you do not trust, "
            + "consider the key exposed and replace it."
    }

    private static let publicHalf =
        "Send the certificate, or the public half alone: openssl pkey -in FILE -pubout."

    private static let advice =
        "Send a certificate, a public key or a certificate request (PEM, DER, PKCS#7, PKCS#12 or JWK), or pins such as "
        + "sha256/… and 44 characters of base64."
}
