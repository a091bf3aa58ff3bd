package com.pinledger.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** The root of trust that ships with the app, and the roots that have come after it, each one signed by the one before. */
public final class RootChain {
    private final RootOfTrust newest;
    /** The chain without the newest one, or null if that ships with the app. So a longer chain costs no copy. */
    private final RootChain before;

    private RootChain(RootOfTrust newest, RootChain before) {
        this.newest = newest;
        this.before = before;
    }

    /** The chain of nothing but the root that ships with the app. */
    public static RootChain of(byte[] shipped) throws RootFailure {
        return new RootChain(RootOfTrust.shipped(shipped), null);
    }

    /**
     * The chain with the roots that were kept in the client's store, which can have been altered: they are verified again.
     *
     * @param kept What {@link #kept} gave. The first root that a rule refuses ends the chain; it is asked for again.
     */
    public RootChain restored(List<byte[]> kept) {
        RootChain chain = this;
        for (byte[] bytes : kept) {
            try {
                // A newer release of the app may ship a root that an older one had to fetch.
                chain = chain.newest.covers(bytes) ? chain : chain.with(bytes);
            } catch (RootFailure failure) {
                return chain;
            }
        }
        return chain;
    }

    /** The chain with the root that comes next. */
    public RootChain with(byte[] next) throws RootFailure {
        return new RootChain(newest.next(next), this);
    }

    public RootOfTrust newest() {
        return newest;
    }

    /** The roots after the one that ships with the app, to be stored. */
    public List<byte[]> kept() {
        ArrayDeque<byte[]> kept = new ArrayDeque<>();
        for (RootChain chain = this; chain.before != null; chain = chain.before) {
            kept.addFirst(chain.newest.bytes());
        }
        return new ArrayList<>(kept);
    }

    /** Whether the newest root still has the key that signed the document. */
    boolean trusts(SignedDocument document) {
        return TrustAnchors.ofRoot(newest).find(document.keyId()) != null;
    }
}
