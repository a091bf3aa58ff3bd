package com.pinledger.client;

import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The pin of a certificate: the SHA-256 of its SubjectPublicKeyInfo (RFC 7469 section 2.4). */
public final class SpkiPin {
    private static final int SEQUENCE = 0x30;
    private static final int EXPLICIT_VERSION = 0xa0;
    /** Serial number, signature algorithm, issuer, validity and subject stand before the key. */
    private static final int FIELDS_BEFORE_KEY = 5;

    private final byte[] der;
    private int position;

    private SpkiPin(byte[] der) {
        this.der = der;
    }

    /** The pins of a chain in its order, as {@code sha256/…}. */
    public static List<String> of(List<X509Certificate> chain) throws CertificateException {
        List<String> pins = new ArrayList<>();
        for (X509Certificate certificate : chain) {
            pins.add("sha256/" + Base64Text.encodePadded(Hashes.sha256(subjectPublicKeyInfo(certificate))));
        }
        return pins;
    }

    /**
     * The bytes as they stand in the certificate. {@code getPublicKey().getEncoded()} would be the platform's own encoding
     * of the key, which need not be the same, and fails for keys that the platform does not know.
     */
    static byte[] subjectPublicKeyInfo(X509Certificate certificate) throws CertificateException {
        byte[] der = certificate.getTBSCertificate();
        try {
            SpkiPin reader = new SpkiPin(der);
            reader.enter();
            if ((der[reader.position] & 0xff) == EXPLICIT_VERSION) {
                reader.skip();
            }
            for (int count = 0; count < FIELDS_BEFORE_KEY; count++) {
                reader.skip();
            }
            int start = reader.position;
            if (der[start] != SEQUENCE) {
                throw new CertificateException("no key where it should be");
            }
            reader.skip();
            return Arrays.copyOfRange(der, start, reader.position);
        } catch (IndexOutOfBoundsException exception) {
            throw new CertificateException("a certificate that ends early", exception);
        }
    }

    private void enter() {
        position++;
        length();
    }

    private void skip() {
        position++;
        int length = length();
        if (length > der.length - position) {
            throw new IndexOutOfBoundsException("an element that ends after the certificate");
        }
        position += length;
    }

    private int length() {
        int first = der[position++] & 0xff;
        if (first < 0x80) {
            return first;
        }
        int count = first & 0x7f;
        // Three bytes are enough for 16 MiB; more could overflow.
        if (count == 0 || count > 3) {
            throw new IndexOutOfBoundsException("a length that no certificate has");
        }
        int length = 0;
        for (; count > 0; count--) {
            length = length << 8 | der[position++] & 0xff;
        }
        return length;
    }
}
