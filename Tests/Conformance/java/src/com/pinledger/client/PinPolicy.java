package com.pinledger.client;

import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;

/**
 * What connections are judged by: a document, which can be replaced at any moment, and the device.
 *
 * <p>Clients ask it for each connection and each request, so a new document or a kill switch holds from the next request on.
 */
public final class PinPolicy {
    private final BuiltinPins builtinPins;
    private volatile Device device;
    /** The document with its evaluator, in one reference: no connection is judged by parts of two documents. */
    private volatile State state;

    public PinPolicy(Device device, BuiltinPins builtinPins) {
        this.device = device;
        this.builtinPins = builtinPins;
    }

    /**
     * Makes a document hold, from now on. Only a {@link DocumentVerifier} makes documents.
     *
     * @return Whether it holds. It does not if another thread has brought a newer one since this one was verified.
     */
    public synchronized boolean replace(SignedDocument document) {
        if (state != null) {
            Payload held = state.document.payload();
            Payload given = document.payload();
            boolean older = given.version() < held.version()
                    || given.version() == held.version() && given.issuedAt() < held.issuedAt();
            if (older) {
                return false;
            }
        }
        state = new State(document);
        return true;
    }

    /** Changes what is known of the device, such as when a user signs in. */
    public void setDevice(Device device) {
        this.device = device;
    }

    /** The document that holds, or null. */
    public SignedDocument document() {
        State current = state;
        return current == null ? null : current.document;
    }

    /** Whether to fetch a document before a connection to the host: there is none, or it is stale and the host is pinned. */
    public boolean wantsFetch(String host) {
        State current = state;
        long now = now();
        return current == null || current.document.isStale(now)
                && !current.evaluator.decide(host, device, now).reason().equals("host_unknown");
    }

    /**
     * Judges a connection.
     *
     * @param host The name that the app connects to, in A-labels.
     * @param chain Gives the pins of the validated chain. It is asked only where they matter, because validation takes time.
     */
    Judgement judge(String host, Supplier<List<String>> chain) {
        State current = state;
        long now = now();
        if (current == null) {
            // Without any document there is only what ships with the app.
            return new Judgement(host, now, null, null, builtinPins.verdict(host, chain.get()), null);
        }
        Decision decision = current.evaluator.decide(host, device, now);
        boolean chainMatters = decision.outcome() != Decision.Outcome.OFF || decision.reason().equals("pins_expired");
        List<String> pins = chainMatters ? chain.get() : Collections.emptyList();
        Verdict verdict = decision.verdict(pins);
        if (verdict == null) {
            verdict = builtinPins.verdict(host, pins);
        }
        return new Judgement(host, now, current.document, decision, verdict, pins);
    }

    private static long now() {
        return Math.floorDiv(System.currentTimeMillis(), 1000L);
    }

    private static final class State {
        final SignedDocument document;
        final Evaluator evaluator;

        State(SignedDocument document) {
            this.document = document;
            this.evaluator = new Evaluator(document.payload());
        }
    }
}
