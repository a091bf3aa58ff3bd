package com.pinledger.client;

import com.pinledger.client.VerificationFailure.Reason;
import java.nio.charset.StandardCharsets;

/** Decides which documents an app accepts. The first rule that fails gives the reason. */
public final class DocumentVerifier {
    /** The most bytes that a document may have. */
    public static final int SIZE_LIMIT = 2_097_152;

    private static final long CLOCK_SKEW = 300;
    private static final int SIGNATURE_BYTES = 64;

    private final TrustAnchors anchors;
    private final String app;
    private final String issuer;
    private final boolean evaluated;

    private DocumentVerifier(TrustAnchors anchors, String app, String issuer, boolean evaluated) {
        this.anchors = anchors;
        this.app = app;
        this.issuer = issuer;
        this.evaluated = evaluated;
    }

    /** A verifier of the documents that are the same for all devices. */
    public static DocumentVerifier forDocuments(TrustAnchors anchors, String app, String issuer) {
        return new DocumentVerifier(anchors, app, issuer, false);
    }

    /**
     * A verifier of the documents that the server evaluates for one device.
     *
     * <p>A device gets different ones of one version, when it changes or travels: they need not succeed one another.
     */
    public static DocumentVerifier forEvaluatedDocuments(TrustAnchors anchors, String app, String issuer) {
        return new DocumentVerifier(anchors, app, issuer, true);
    }

    /** A verifier of the same documents that trusts other keys, such as those of the next root of trust. */
    DocumentVerifier by(TrustAnchors others) {
        return new DocumentVerifier(others, app, issuer, evaluated);
    }

    /**
     * Verifies a document that was fetched.
     *
     * @param held The document that it would replace, or null.
     * @param now The device's clock, in seconds since 1970.
     */
    public SignedDocument verify(byte[] token, SignedDocument held, long now) throws VerificationFailure {
        SignedDocument document = verify(token);
        requireSuccession(document.payload(), held);
        // Written without a sum, which could overflow.
        require(document.payload().issuedAt() - CLOCK_SKEW <= now, Reason.ISSUED_AHEAD);
        require(!anchors.haveEnded(now), Reason.ROOT_EXPIRED);
        return document;
    }

    /**
     * Verifies a document that was accepted before and read back from the client's own store. The device's clock may have
     * been put back since, so it does not count, neither for the document nor for the root of trust.
     */
    public SignedDocument restore(byte[] token, SignedDocument held) throws VerificationFailure {
        SignedDocument document = verify(token);
        requireSuccession(document.payload(), held);
        return document;
    }

    private SignedDocument verify(byte[] token) throws VerificationFailure {
        require(token.length <= SIZE_LIMIT, Reason.TOO_LARGE);
        int first = indexOfDot(token, 0);
        int second = first < 0 ? -1 : indexOfDot(token, first + 1);
        require(first > 0 && second > first + 1 && indexOfDot(token, second + 1) < 0, Reason.MALFORMED_TOKEN);
        byte[] header;
        byte[] body;
        byte[] signature;
        try {
            header = Base64Text.decodeUrl(token, 0, first);
            body = Base64Text.decodeUrl(token, first + 1, second);
            signature = Base64Text.decodeUrl(token, second + 1, token.length);
        } catch (MalformedException exception) {
            throw new VerificationFailure(Reason.MALFORMED_TOKEN, exception);
        }
        require(signature.length == SIGNATURE_BYTES, Reason.MALFORMED_TOKEN);
        String keyId = keyId(header);
        require(keyId != null, Reason.UNSUPPORTED_HEADER);
        byte[] key = anchors.find(keyId);
        require(key != null, Reason.UNKNOWN_KEY);
        require(Ed25519.verifies(key, signature, token, second), Reason.WRONG_SIGNATURE);
        Payload payload;
        try {
            payload = Payload.verified(body, evaluated);
        } catch (MalformedException exception) {
            throw new VerificationFailure(Reason.MALFORMED_PAYLOAD, exception);
        }
        require(payload.app().equals(app), Reason.OTHER_APP);
        require(payload.issuer().equals(issuer), Reason.OTHER_ISSUER);
        return new SignedDocument(token, keyId, payload);
    }

    private void requireSuccession(Payload payload, SignedDocument held) throws VerificationFailure {
        // A document counts as none once its key is no trust anchor any more: a stolen key must not block its successor.
        if (held == null || anchors.find(held.keyId()) == null) {
            return;
        }
        long version = held.payload().version();
        require(payload.version() >= version, Reason.OLDER_VERSION);
        if (evaluated || payload.version() > version) {
            return;
        }
        require(payload.contentDigest().equals(held.payload().contentDigest()), Reason.CONTRADICTION);
        require(payload.issuedAt() >= held.payload().issuedAt(), Reason.ISSUED_EARLIER);
    }

    /** The key's id in a header that is, byte for byte, of the one supported form; otherwise null. */
    private String keyId(byte[] header) {
        // Each byte becomes one character, so that bytes outside of ASCII stay different from all of ASCII.
        String text = new String(header, StandardCharsets.ISO_8859_1);
        String start = "{\"alg\":\"EdDSA\",\"kid\":\"";
        String end = evaluated ? "\",\"typ\":\"pinset-evaluated+jws\"}" : "\",\"typ\":\"pinset+jws\"}";
        if (text.length() <= start.length() + end.length() || !text.startsWith(start) || !text.endsWith(end)) {
            return null;
        }
        String keyId = text.substring(start.length(), text.length() - end.length());
        for (int index = 0; index < keyId.length(); index++) {
            char character = keyId.charAt(index);
            if (!Ascii.isDigit(character) && !Ascii.isLetter(character) && character != '-' && character != '_') {
                return null;
            }
        }
        return keyId;
    }

    private static int indexOfDot(byte[] token, int from) {
        for (int index = from; index < token.length; index++) {
            if (token[index] == '.') {
                return index;
            }
        }
        return -1;
    }

    private static void require(boolean condition, Reason otherwise) throws VerificationFailure {
        if (!condition) {
            throw new VerificationFailure(otherwise);
        }
    }
}
