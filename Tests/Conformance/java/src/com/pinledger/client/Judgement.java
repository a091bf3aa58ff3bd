package com.pinledger.client;

import java.util.List;

/** What became of a connection, and why. */
public final class Judgement {
    private final String host;
    private final long time;
    private final SignedDocument document;
    private final Decision decision;
    private final Verdict verdict;
    private final List<String> chain;

    Judgement(String host, long time, SignedDocument document, Decision decision, Verdict verdict, List<String> chain) {
        this.host = host;
        this.time = time;
        this.document = document;
        this.decision = decision;
        this.verdict = verdict;
        this.chain = chain;
    }

    /** The name that was connected to. */
    public String host() {
        return host;
    }

    public Verdict verdict() {
        return verdict;
    }

    /** The decision that was applied; null if there is no document yet. */
    public Decision decision() {
        return decision;
    }

    /** The document that decided; null if there is none yet. */
    public SignedDocument document() {
        return document;
    }

    /** The pins of the validated chain, as {@code sha256/…}; null if there is no document yet. */
    public List<String> chain() {
        return chain;
    }

    /** Whether the connection may be added to a {@link ReportLog}: the document that decided asks for reports. */
    public boolean isReported() {
        return document != null && document.payload().reportsOutcomes();
    }

    /** The connection as reports tell of it. */
    public ReportedConnection reported() {
        return ReportedConnection.of(host, time, verdict, decision, document.payload().version(), chain);
    }
}
