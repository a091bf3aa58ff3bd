package com.pinledger.client;

import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Tells what an app asked to be told of. */
final class Listeners {
    private static final Logger LOG = Logger.getLogger(Listeners.class.getName());

    private Listeners() {}

    /** Tells it; what the listener throws goes to the log, and ends neither a connection nor a fetch. */
    static <T> void tell(Consumer<? super T> listener, T news) {
        try {
            listener.accept(news);
        } catch (Exception failure) {
            // Also checked ones: a listener in Kotlin declares none.
            LOG.log(Level.WARNING, "a listener failed", failure);
        }
    }
}
