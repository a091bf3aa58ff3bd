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
    /** What becomes of connections while there is no document, and no pin is built into the app. */
    public enum WithoutDocument {
        /** They go on, unpinned. */
        PLATFORM_TRUST,
        /** They are refused. */
        BLOCK
    }

    private final BuiltinPins builtinPins;
    private final WithoutDocument withoutDocument;
    private volatile Device device;
    /** All in one reference: no connection is judged by parts of two documents. */
    private volatile ClientState state;

    public PinPolicy(Device device, BuiltinPins builtinPins, WithoutDocument withoutDocument) {
        this(device, builtinPins, withoutDocument, null);
    }

    /**
     * Creates a policy for an app that ships a root of trust.
     *
     * @param roots The root that ships with the app, and those after it that the client has kept.
     */
    public PinPolicy(Device device, BuiltinPins builtinPins, WithoutDocument withoutDocument, RootChain roots) {
        this.device = device;
        this.builtinPins = builtinPins;
        this.withoutDocument = withoutDocument;
        this.state = new ClientState(roots, null);
    }

    /**
     * Makes a document hold, from now on. Only a {@link DocumentVerifier} makes documents.
     *
     * @return Whether it holds. It does not if another thread has brought a newer one since this one was verified, or a root of
     *     trust without its key.
     */
    public synchronized boolean replace(SignedDocument document) {
        return replace(state.roots(), document);
    }

    /**
     * Makes roots of trust and a document that one of their keys has signed hold in one step.
     *
     * @return Whether they hold. They do not if another thread has brought newer ones since these were verified.
     */
    synchronized boolean replace(RootChain roots, SignedDocument document) {
        boolean trusted = roots == null || roots.trusts(document);
        if (!trusted || isOlder(roots)) {
            return false;
        }
        SignedDocument held = state.document();
        // A document whose key has left the root counts as none: its version may be a thief's.
        if (held != null && (roots == null || roots.trusts(held)) && isOlder(document.payload(), held.payload())) {
            return false;
        }
        state = new ClientState(roots, document);
        return true;
    }

    /**
     * Makes newer roots of trust hold, under which the document that is held stays what it is.
     *
     * @return Whether they hold. They do not if they have left out the document's key: until another document is there, it is
     *     better than none.
     */
    synchronized boolean replace(RootChain roots) {
        SignedDocument held = state.document();
        if (isOlder(roots) || held != null && !roots.trusts(held)) {
            return false;
        }
        state = new ClientState(roots, held);
        return true;
    }

    /** Changes what is known of the device, such as when a user signs in. */
    public void setDevice(Device device) {
        this.device = device;
    }

    /** The document that holds, or null. */
    public SignedDocument document() {
        return state.document();
    }

    /** What is held at the moment, to be stored. */
    public ClientState state() {
        return state;
    }

    /** Whether to fetch a document before a connection to the host: there is none, or it is stale and the host is pinned. */
    public boolean wantsFetch(String host) {
        ClientState current = state;
        long now = now();
        return current.document() == null || current.document().isStale(now)
                && !current.evaluator().decide(host, device, now).reason().equals("host_unknown");
    }

    /**
     * Judges a connection.
     *
     * @param host The name that the app connects to, in A-labels.
     * @param chain Gives the pins of the validated chain. It is asked only where they matter, because validation takes time.
     */
    Judgement judge(String host, Supplier<List<String>> chain) {
        ClientState current = state;
        long now = now();
        if (current.document() == null) {
            // Without any document there is only what ships with the app.
            Verdict verdict = builtinPins.verdict(host, chain.get());
            boolean blocks = verdict == Verdict.UNPINNED && withoutDocument == WithoutDocument.BLOCK;
            return new Judgement(host, now, null, null, blocks ? Verdict.REFUSED_WITHOUT_DOCUMENT : verdict, null);
        }
        Decision decision = current.evaluator().decide(host, device, now);
        boolean chainMatters = decision.outcome() != Decision.Outcome.OFF || decision.reason().equals("pins_expired");
        List<String> pins = chainMatters ? chain.get() : Collections.emptyList();
        Verdict verdict = decision.verdict(pins);
        if (verdict == null) {
            verdict = builtinPins.verdict(host, pins);
        }
        return new Judgement(host, now, current.document(), decision, verdict, pins);
    }

    private static long now() {
        return Math.floorDiv(System.currentTimeMillis(), 1000L);
    }

    private boolean isOlder(RootChain roots) {
        return roots != null && roots.newest().version() < state.roots().newest().version();
    }

    private static boolean isOlder(Payload given, Payload held) {
        return given.version() < held.version()
                || given.version() == held.version() && given.issuedAt() < held.issuedAt();
    }
}
