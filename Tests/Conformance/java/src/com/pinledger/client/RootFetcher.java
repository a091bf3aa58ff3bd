package com.pinledger.client;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/** Asks a service for the roots of trust that come after the newest one that the client has. */
final class RootFetcher {
    private static final int STEP_LIMIT = 64;
    private static final long LIMIT_SECONDS = 15;

    private final OkHttpClient client;
    private final HttpUrl url;
    private volatile RootFailure failure;

    /**
     * Creates a fetcher.
     *
     * @param url What a root's version is appended to.
     */
    RootFetcher(OkHttpClient client, HttpUrl url) {
        this.client = client;
        this.url = url;
    }

    /**
     * The roots with those that the service has after them: all of them, or the first ones of very many.
     *
     * <p>A root that is refused and a network that fails end the walk. What was reached counts: each root vouches for the next.
     */
    RootChain walk(RootChain roots) {
        failure = null;
        RootChain reached = roots;
        // A connection may wait for all of it, so the time is limited as a whole.
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        try {
            for (int step = 0; step < STEP_LIMIT; step++) {
                byte[] next = ask(reached.newest().version() + 1, end - System.nanoTime());
                if (next == null) {
                    break;
                }
                reached = reached.with(next);
            }
        } catch (RootFailure refused) {
            failure = refused;
        } catch (IOException exception) {
            // The client asks again, as often as it asks at all.
        }
        return reached;
    }

    /** Why the last walk ended with a root that was refused, or null if it did not. */
    RootFailure failure() {
        return failure;
    }

    /** The root of the version as it was served, or null if there is none at the moment. */
    private byte[] ask(long version, long nanoseconds) throws IOException {
        if (nanoseconds <= 0) {
            return null;
        }
        HttpUrl address = url.newBuilder().addPathSegment(String.valueOf(version)).build();
        Call call = client.newCall(new Request.Builder().url(address).build());
        call.timeout().timeout(nanoseconds, TimeUnit.NANOSECONDS);
        try (Response response = call.execute()) {
            boolean isThere = response.code() == 200 && response.body() != null;
            return isThere ? DocumentFetcher.read(response.body().byteStream(), RootOfTrust.SIZE_LIMIT) : null;
        }
    }
}
