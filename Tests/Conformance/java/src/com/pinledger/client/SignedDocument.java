package com.pinledger.client;

/** A document that passed every rule of verification. */
public final class SignedDocument {
    private final byte[] token;
    private final String keyId;
    private final Payload payload;

    SignedDocument(byte[] token, String keyId, Payload payload) {
        this.token = token.clone();
        this.keyId = keyId;
        this.payload = payload;
    }

    /** The document as it was fetched, to be stored. */
    public byte[] token() {
        return token.clone();
    }

    public Payload payload() {
        return payload;
    }

    /** Whether the client should fetch another document before it connects. A stale document is still valid. */
    public boolean isStale(long now) {
        return now >= payload.expiresAt();
    }

    /** The id of the key that signed the document. */
    String keyId() {
        return keyId;
    }
}
