package com.pinledger.client;

import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.KeyFactorySpi;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.Security;
import java.security.SignatureSpi;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.KeySpec;

/** Tests of {@link Ed25519} with providers that name the algorithm, and of {@link KeyEncoding}. */
final class KeySelfTest {
    private static final byte[] MESSAGE = {1, 2, 3};
    private static int failures;

    private KeySelfTest() {}

    /** The number of checks that failed. */
    static int failures() throws GeneralSecurityException {
        Provider good = Ed25519.firstUsable(Security.getProviders());
        check("the platform's", good != null);
        check("none", Ed25519.firstUsable() == null);
        Provider keystore = new Provider("Keystore", "1.0", "makes no key of bytes, as the Android Keystore does") {
            private static final long serialVersionUID = 1;
        };
        keystore.put("KeyFactory.Ed25519", NoKeys.class.getName());
        keystore.put("Signature.Ed25519", Credulous.class.getName());
        check("a provider that makes no key", Ed25519.firstUsable(keystore) == null);
        check("the one behind it", Ed25519.firstUsable(keystore, good) == good);
        Provider credulous = new Provider("Credulous", "1.0", "takes every signature") {
            private static final long serialVersionUID = 1;
        };
        credulous.put("KeyFactory.Ed25519", AnyKey.class.getName());
        credulous.put("Signature.Ed25519", Credulous.class.getName());
        check("a provider that takes every signature", Ed25519.firstUsable(credulous, good) == good);
        TestSigner signer = new TestSigner();
        byte[] signature = signer.signature(MESSAGE);
        // An app's platform, where the keystore's provider comes first.
        Security.insertProviderAt(keystore, 1);
        try {
            check("a signature", Ed25519.verifies(signer.publicKey, signature, MESSAGE, MESSAGE.length));
        } finally {
            Security.removeProvider("Keystore");
        }
        check("a point of small order", !KeyEncoding.isUsable(new byte[32]));
        return failures;
    }

    private static void check(String name, boolean isRight) {
        if (!isRight) {
            failures++;
            System.out.println("keys, " + name + ": wrong");
        }
    }

    /** A key factory that names the algorithm, for keys that it holds itself. */
    public static class NoKeys extends KeyFactorySpi {
        @Override
        protected PublicKey engineGeneratePublic(KeySpec spec) throws InvalidKeySpecException {
            throw new InvalidKeySpecException("use KeyPairGenerator");
        }

        @Override
        protected PrivateKey engineGeneratePrivate(KeySpec spec) throws InvalidKeySpecException {
            throw new InvalidKeySpecException("use KeyPairGenerator");
        }

        @Override
        protected <T extends KeySpec> T engineGetKeySpec(Key key, Class<T> type) throws InvalidKeySpecException {
            throw new InvalidKeySpecException("none");
        }

        @Override
        protected Key engineTranslateKey(Key key) throws InvalidKeyException {
            throw new InvalidKeyException("none");
        }
    }

    /** A key factory that makes a public key of anything. */
    public static final class AnyKey extends NoKeys {
        @Override
        protected PublicKey engineGeneratePublic(KeySpec spec) {
            return new PublicKey() {
                private static final long serialVersionUID = 1;

                @Override
                public String getAlgorithm() {
                    return "Ed25519";
                }

                @Override
                public String getFormat() {
                    return "X.509";
                }

                @Override
                public byte[] getEncoded() {
                    return new byte[0];
                }
            };
        }

        @Override
        protected Key engineTranslateKey(Key key) {
            return key;
        }
    }

    /** A signature that is always right. */
    public static final class Credulous extends SignatureSpi {
        @Override
        protected void engineInitVerify(PublicKey key) {}

        @Override
        protected void engineInitSign(PrivateKey key) {}

        @Override
        protected void engineUpdate(byte value) {}

        @Override
        protected void engineUpdate(byte[] bytes, int offset, int length) {}

        @Override
        protected byte[] engineSign() {
            return new byte[64];
        }

        @Override
        protected boolean engineVerify(byte[] signature) {
            return true;
        }

        @Deprecated
        @Override
        protected void engineSetParameter(String name, Object value) {}

        @Deprecated
        @Override
        protected Object engineGetParameter(String name) {
            return null;
        }
    }
}
