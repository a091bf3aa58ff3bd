package com.pinledger.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A connection as reports tell of it. */
public final class ReportedConnection {
    private static final int CHAIN_LIMIT = 10;

    private final String host;
    private final long time;
    private final Verdict verdict;
    private final String reason;
    private final String arm;
    private final long documentVersion;
    private final List<String> chain;

    /**
     * Creates a connection to report.
     *
     * @param host The name that was connected to.
     * @param time The time by the client's clock, in seconds since 1970.
     * @param reason The decision's reason.
     * @param arm The decision's arm, or null.
     * @param documentVersion The version of the document that decided.
     * @param chain The pins of the validated chain, the host's own first; null if there is none.
     */
    public ReportedConnection(
            String host, long time, Verdict verdict, String reason, String arm, long documentVersion, List<String> chain) {
        this.host = HostName.spelled(host);
        this.time = time;
        this.verdict = verdict;
        this.reason = reason;
        this.arm = arm;
        this.documentVersion = documentVersion;
        this.chain = chain == null ? null
                : Collections.unmodifiableList(new ArrayList<>(chain.subList(0, Math.min(CHAIN_LIMIT, chain.size()))));
    }

    /** A connection to which a decision was applied. */
    public static ReportedConnection of(
            String host, long time, Verdict verdict, Decision decision, long documentVersion, List<String> chain) {
        return new ReportedConnection(host, time, verdict, decision.reason(), decision.arm(), documentVersion, chain);
    }

    long time() {
        return time;
    }

    /** The outcome without {@code count}, {@code time} and {@code id}; null for a connection that is not reported. */
    Map<String, Object> outcome() {
        // Names of hosts that the document does not know never leave the device.
        boolean success = verdict == Verdict.MATCHED;
        boolean unpinned = verdict == Verdict.UNPINNED && reason.equals("pins_expired");
        String failure = failure();
        if (reason.equals("host_unknown") || !success && !unpinned && failure == null) {
            return null;
        }
        Map<String, Object> outcome = new TreeMap<>();
        outcome.put("host", host);
        outcome.put("outcome", success ? "success" : unpinned ? "unpinned" : "failure");
        outcome.put("document_version", documentVersion);
        if (arm != null) {
            outcome.put("arm", arm);
        }
        if (failure != null) {
            outcome.put("reason", failure);
            if (chain != null && !chain.isEmpty() && verdict != Verdict.INVALID_CHAIN) {
                outcome.put("served_spki", chain);
            }
        }
        return outcome;
    }

    private String failure() {
        switch (verdict) {
            case REFUSED:
                return "pin_mismatch";
            case MISMATCHED:
                return "report_only_mismatch";
            case INVALID_CHAIN:
                return "chain_invalid";
            case REFUSED_EXPIRED:
                return "expired_pins";
            default:
                return null;
        }
    }
}
