package com.pinledger.client;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.Provider;
import java.security.PublicKey;
import java.security.Security;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;

/**
 * The check of an Ed25519 signature (RFC 8032). This is the one place to change where the system has no Ed25519.
 *
 * <p>A provider may name the algorithm and not have it: the key factory of the Android Keystore makes no key of bytes. Each is tried
 * with a known signature before it is used, so that a platform without the algorithm does not look like an attack.
 */
final class Ed25519 {
    private static final String ALGORITHM = "Ed25519";
    /** What precedes the 32 bytes of a key in its SubjectPublicKeyInfo (RFC 8410). */
    private static final byte[] PREFIX = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

    /** RFC 8032, section 7.1, TEST 2: a key, a message, and its signature. */
    private static final byte[] KNOWN_KEY =
            Hashes.bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    private static final byte[] KNOWN_MESSAGE = {0x72};
    private static final byte[] KNOWN_SIGNATURE = Hashes.bytes(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");

    /** Null where no provider of the platform has the algorithm. */
    private static final Provider PROVIDER = firstUsable(Security.getProviders());

    private Ed25519() {}

    /**
     * Fails where the platform has no Ed25519. Called when keys are read, at the app's start.
     *
     * @throws IllegalStateException if no provider passes the known signature
     */
    static void requireProvider() {
        requireProvider(PROVIDER);
    }

    static boolean verifies(byte[] key, byte[] signature, byte[] message, int length) {
        requireProvider(PROVIDER);
        try {
            return verifies(PROVIDER, key, signature, message, length);
        } catch (GeneralSecurityException exception) {
            // A key or a signature that is no point of the curve.
            return false;
        }
    }

    /** The first provider that takes the known signature, and does not take it over another message; null for none. */
    static Provider firstUsable(Provider... providers) {
        byte[] other = {0x73};
        for (Provider provider : providers) {
            try {
                if (verifies(provider, KNOWN_KEY, KNOWN_SIGNATURE, KNOWN_MESSAGE, KNOWN_MESSAGE.length)
                        && !verifies(provider, KNOWN_KEY, KNOWN_SIGNATURE, other, other.length)) {
                    return provider;
                }
            } catch (GeneralSecurityException | RuntimeException | LinkageError unusable) {
                // The provider does not have the algorithm, or has it for keys of its own alone.
                continue;
            }
        }
        return null;
    }

    private static void requireProvider(Provider provider) {
        if (provider == null) {
            throw new IllegalStateException(
                    "no provider of this platform checks Ed25519 signatures: let Ed25519 use a library such as Tink");
        }
    }

    private static boolean verifies(Provider provider, byte[] key, byte[] signature, byte[] message, int length)
            throws GeneralSecurityException {
        byte[] encoded = new byte[PREFIX.length + key.length];
        System.arraycopy(PREFIX, 0, encoded, 0, PREFIX.length);
        System.arraycopy(key, 0, encoded, PREFIX.length, key.length);
        PublicKey publicKey = KeyFactory.getInstance(ALGORITHM, provider).generatePublic(new X509EncodedKeySpec(encoded));
        Signature check = Signature.getInstance(ALGORITHM, provider);
        check.initVerify(publicKey);
        check.update(message, 0, length);
        return check.verify(signature);
    }
}
