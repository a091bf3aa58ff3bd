package com.pinledger.client;

import static com.pinledger.client.TestSigner.object;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** Makes roots of trust for tests: one key signs the next root, and one signs documents. */
final class TestRoot {
    private final TestSigner rootKey;
    private final TestSigner documentKey;
    private final TestSigner[] signers;
    private final String expires;

    TestRoot(TestSigner rootKey, TestSigner documentKey) {
        this(rootKey, documentKey, "2999-01-01T00:00:00Z", rootKey);
    }

    private TestRoot(TestSigner rootKey, TestSigner documentKey, String expires, TestSigner... signers) {
        this.rootKey = rootKey;
        this.documentKey = documentKey;
        this.expires = expires;
        this.signers = signers;
    }

    /** The same root, signed by these alone. */
    TestRoot by(TestSigner... others) {
        return new TestRoot(rootKey, documentKey, expires, others);
    }

    /** The same root, which ends then. */
    TestRoot until(String time) {
        return new TestRoot(rootKey, documentKey, time, signers);
    }

    byte[] signed(long version) throws GeneralSecurityException {
        Map<String, Object> keys = new TreeMap<>();
        keys.put(id(rootKey), key(rootKey));
        keys.put(id(documentKey), key(documentKey));
        byte[] signed = CanonicalJson.bytes(object("_type", "root", "spec_version", "1.0.34", "version", version,
                "expires", expires, "keys", keys, "roles", object("root", role(rootKey), "targets", role(documentKey))));
        Map<String, Object> signatures = new TreeMap<>();
        for (TestSigner signer : signers) {
            signatures.put(id(signer), object("keyid", id(signer), "sig", Hashes.hexadecimal(signer.signature(signed))));
        }
        String text = "{\"signatures\":" + CanonicalJson.text(signatures.values())
                + ",\"signed\":" + new String(signed, StandardCharsets.US_ASCII) + "}";
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static Map<String, Object> role(TestSigner signer) {
        return object("keyids", Collections.singletonList(id(signer)), "threshold", 1L);
    }

    private static Map<String, Object> key(TestSigner signer) {
        return object("keytype", "ed25519", "scheme", "ed25519",
                "keyval", object("public", Hashes.hexadecimal(signer.publicKey)));
    }

    private static String id(TestSigner signer) {
        return Hashes.hexadecimal(Hashes.sha256(CanonicalJson.bytes(key(signer))));
    }
}
