package com.pinledger.client;

import java.util.Collection;

/** The pins that are built into the app, in the app's own mode. */
public interface BuiltinPins {
    /** For an app without pins of its own. */
    BuiltinPins NONE = (host, chain) -> Verdict.UNPINNED;

    /**
     * Judges a connection to a host.
     *
     * @param chain The pins of the validated chain, as {@code sha256/…}.
     */
    Verdict verdict(String host, Collection<String> chain);
}
