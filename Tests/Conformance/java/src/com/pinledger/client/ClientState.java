package com.pinledger.client;

/**
 * What a client holds, and keeps in its store: the roots of trust, where its app ships one, and the document.
 *
 * <p>It is one reference, so that neither a connection nor the store ever sees a document with another one's roots. Keep it in
 * one file that is replaced as a whole: {@link RootChain#kept} in their order, and {@link SignedDocument#token}.
 */
public final class ClientState {
    private final RootChain roots;
    private final SignedDocument document;
    private final Evaluator evaluator;

    ClientState(RootChain roots, SignedDocument document) {
        this.roots = roots;
        this.document = document;
        this.evaluator = document == null ? null : new Evaluator(document.payload());
    }

    /** The roots of trust, or null if the app ships a JWK Set. */
    public RootChain roots() {
        return roots;
    }

    /** The document that holds, or null. */
    public SignedDocument document() {
        return document;
    }

    /** What decides by the document, or null. */
    Evaluator evaluator() {
        return evaluator;
    }
}
