package com.pinledger.client;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;

/** The check of an Ed25519 signature (RFC 8032). This is the one place to change where the system has no Ed25519. */
final class Ed25519 {
    /** What precedes the 32 bytes of a key in its SubjectPublicKeyInfo (RFC 8410). */
    private static final byte[] PREFIX = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

    private Ed25519() {}

    static boolean verifies(byte[] key, byte[] signature, byte[] message, int length) {
        byte[] encoded = new byte[PREFIX.length + key.length];
        System.arraycopy(PREFIX, 0, encoded, 0, PREFIX.length);
        System.arraycopy(key, 0, encoded, PREFIX.length, key.length);
        try {
            PublicKey publicKey = KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(encoded));
            Signature check = Signature.getInstance("Ed25519");
            check.initVerify(publicKey);
            check.update(message, 0, length);
            return check.verify(signature);
        } catch (NoSuchAlgorithmException exception) {
            // A platform without the algorithm must not look like an attack.
            throw new IllegalStateException("this platform has no Ed25519", exception);
        } catch (GeneralSecurityException exception) {
            // A key or a signature that is no point of the curve.
            return false;
        }
    }
}
