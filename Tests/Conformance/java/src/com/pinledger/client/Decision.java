package com.pinledger.client;

import java.util.Collection;
import java.util.Collections;
import java.util.List;

/** What a document says about the connections of a device to a host at a moment. */
public final class Decision {
    /** What applies to a connection. */
    public enum Outcome {
        /** Refuse a connection without any of the pins. */
        ENFORCE("enforce"),
        /** Go on without any of the pins, and report it. */
        REPORT_ONLY("report_only"),
        /** Compare no pins. */
        OFF("off"),
        /** The pins built into the app apply. */
        BUILTIN("builtin");

        private final String code;

        Outcome(String code) {
            this.code = code;
        }

        public String code() {
            return code;
        }
    }

    private final Outcome outcome;
    private final String reason;
    private final String arm;
    private final String host;
    private final List<String> pins;

    Decision(Outcome outcome, String reason, String arm, String host, List<String> pins) {
        this.outcome = outcome;
        this.reason = reason;
        this.arm = arm;
        this.host = host;
        this.pins = pins;
    }

    /** A decision that was settled before a policy was reached. */
    static Decision withoutPolicy(Outcome outcome, String reason, String host) {
        return new Decision(outcome, reason, null, host, Collections.emptyList());
    }

    public Outcome outcome() {
        return outcome;
    }

    /** The code of the rule that decided. */
    public String reason() {
        return reason;
    }

    /** The policy that applies, {@code baseline} or {@code candidate}; null if no policy was reached. */
    public String arm() {
        return arm;
    }

    /** The pattern that stands for the name; null if there is none. */
    public String host() {
        return host;
    }

    /** The pins that a connection is compared with, as {@code sha256/…} in the document's order. */
    public List<String> pins() {
        return pins;
    }

    /**
     * Judges a connection.
     *
     * @param chain The pins of the <em>validated</em> chain. An attacker can append any certificate to the chain that a
     * server presents.
     * @return The verdict, or null for {@link Outcome#BUILTIN}, which the app's own pins judge.
     */
    public Verdict verdict(Collection<String> chain) {
        switch (outcome) {
            case ENFORCE:
                return Collections.disjoint(chain, pins) ? Verdict.REFUSED : Verdict.MATCHED;
            case REPORT_ONLY:
                return Collections.disjoint(chain, pins) ? Verdict.MISMATCHED : Verdict.MATCHED;
            case OFF:
                return Verdict.UNPINNED;
            default:
                return null;
        }
    }
}
