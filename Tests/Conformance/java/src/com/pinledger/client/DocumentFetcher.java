package com.pinledger.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/**
 * Fetches an app's document, and lets it hold if it passes every rule. Where the app ships a root of trust, it also asks for the
 * roots that come next.
 */
public final class DocumentFetcher {
    /** Keeps what is held from one start of the app to the next. */
    public interface Store {
        void keep(ClientState state) throws IOException;
    }

    private static final long NANOSECONDS = 1_000_000_000L;
    private static final long PAUSE_SECONDS = 10;
    private static final long CALL_SECONDS = 15;
    private static final long FETCH_SECONDS = 3_600;
    /** Less than what lies between two regular fetches, so that each of those asks for the next root. */
    private static final long WALK_MILLISECONDS = 1_800_000;

    private final OkHttpClient client;
    private final HttpUrl url;
    private final DocumentVerifier verifier;
    private final PinPolicy policy;
    /** Null where the app ships a JWK Set. */
    private final RootFetcher rootFetcher;
    private final Store store;
    private final Consumer<Exception> failures;
    /** How long it goes without asking for the next root while nothing calls for it. */
    long walkPause = WALK_MILLISECONDS;

    private final ReentrantLock fetching = new ReentrantLock();
    private String entityTag;
    /**
     * The newest roots that were verified. They are newer than the policy's while there is no document yet for roots that leave
     * out the key of the document that is held: the walk goes on from here, and documents are verified by these.
     */
    private RootChain reached;
    private volatile long lastAttempt = System.nanoTime() - PAUSE_SECONDS * NANOSECONDS;
    /** By the clock, in milliseconds: {@code nanoTime} stands still while an Android device sleeps. */
    private long lastWalk;
    private ClientState stored;

    /**
     * Creates a fetcher for an app that ships a JWK Set.
     *
     * @param client A client that is not pinned: a wrong pin must not keep the document away that corrects it.
     * @param store Keeps what is held in the app's store, each time that it has changed; fetches wait for it.
     * @param failures Told of each failed fetch that the app has not asked for itself, of each answer without a document, and of a
     *     store that fails: an app that no document reaches learns it nowhere else.
     */
    public DocumentFetcher(
            OkHttpClient client, HttpUrl url, DocumentVerifier verifier, PinPolicy policy, Store store,
            Consumer<Exception> failures) {
        this(client, url, verifier, policy, null, store, failures);
    }

    /**
     * Creates a fetcher for an app that ships a root of trust, which its policy holds.
     *
     * @param client A client that is not pinned: a wrong pin must not keep the document away that corrects it.
     * @param verifier Says for which app and from which issuer; the keys are those of the newest root.
     * @param rootsUrl Where the roots of a service are, without a version: {@code …/client/v1/roots}.
     * @param store Keeps what is held in the app's store, each time that it has changed; fetches wait for it.
     * @param failures Told of each failed fetch that the app has not asked for itself, of each answer without a document, and of a
     *     store that fails: an app that no document reaches learns it nowhere else.
     */
    public DocumentFetcher(
            OkHttpClient client, HttpUrl url, DocumentVerifier verifier, PinPolicy policy, HttpUrl rootsUrl,
            Store store, Consumer<Exception> failures) {
        // A service that drips its answer must not hold the app up, and documents come from their own address.
        this.client = client.newBuilder().callTimeout(CALL_SECONDS, TimeUnit.SECONDS).followRedirects(false).build();
        this.url = url;
        this.verifier = verifier;
        this.policy = policy;
        this.rootFetcher = rootsUrl == null ? null : new RootFetcher(this.client, rootsUrl);
        this.store = store;
        this.failures = failures;
        this.stored = policy.state();
        this.reached = stored.roots();
        if ((rootsUrl == null) != (reached == null)) {
            throw new IllegalArgumentException("an app ships a root of trust to both its policy and its fetcher, or to neither");
        }
    }

    /**
     * Fetches the document, and the roots that come next where that is due.
     *
     * @return Whether another document or a newer root holds now. If not, what was held is current, or the server has none at the
     *     moment.
     * @throws VerificationFailure if the document that was served is refused; what was held still holds
     */
    public boolean fetch() throws IOException, VerificationFailure {
        fetching.lock();
        ClientState before = policy.state();
        try {
            if (rootFetcher == null) {
                fetchDocument();
            } else {
                fetchAll();
            }
            return policy.state() != before;
        } finally {
            // The pause counts from the end: calls that waited for a slow attempt must not make another one each.
            lastAttempt = System.nanoTime();
            try {
                keep();
            } finally {
                fetching.unlock();
            }
        }
    }

    /** Stores what is held, also after a failed fetch: a newer root may hold by then. The caller has the lock: no older state is last. */
    private void keep() {
        ClientState held = policy.state();
        if (held == stored) {
            return;
        }
        try {
            store.keep(held);
            stored = held;
        } catch (IOException | RuntimeException failure) {
            // The next fetch tries again. What is held in memory holds.
            Listeners.tell(failures, failure);
        }
    }

    /**
     * Fetches at once, and then every hour, a tenth more or less, so that installs do not all ask at once. A failure is told, and ends
     * nothing. To be cancelled, or ended with the executor.
     *
     * <p>On Android, call {@link #fetch} from a periodic worker as well, for the time when the app does not run.
     */
    public ScheduledFuture<?> fetchRegularly(ScheduledExecutorService executor) {
        long seconds = ThreadLocalRandom.current().nextLong(FETCH_SECONDS * 9 / 10, FETCH_SECONDS * 11 / 10);
        return executor.scheduleWithFixedDelay(this::fetchAndTell, 0, seconds, TimeUnit.SECONDS);
    }

    private void fetchAndTell() {
        try {
            fetch();
        } catch (IOException | VerificationFailure | RuntimeException failure) {
            Listeners.tell(failures, failure);
        }
    }

    /** Why the service's next root was refused when it was asked for last, or null if it was not. To be logged by its code. */
    public RootFailure rootFailure() {
        return rootFetcher == null ? null : rootFetcher.failure();
    }

    private void fetchAll() throws IOException, VerificationFailure {
        RootChain held = policy.state().roots();
        if (held.newest().version() > reached.newest().version()) {
            // Another fetcher with the same policy has been further.
            reached = held;
        }
        // Every document is refused by a root that has ended. One walk is enough for one fetch.
        boolean walked = reached.newest().hasEnded(now());
        if (walked) {
            walk();
        }
        try {
            fetchDocument();
        } catch (VerificationFailure failure) {
            // Its key may be new, or a thief may have signed the version that is held. Without another root it is refused again.
            if (walked || !walk()) {
                throw failure;
            }
            walked = true;
            fetchDocument();
        }
        // Otherwise nothing tells that a key was revoked whose documents are still accepted.
        boolean isDue = Math.abs(System.currentTimeMillis() - lastWalk) >= walkPause;
        if (!walked && isDue && walk() && policy.state().roots() != reached) {
            fetchDocument();
        }
    }

    /**
     * Asks for the roots that come next. They hold at once, unless they leave out the key of the document that is held: then they
     * hold together with the document that replaces it.
     *
     * @return Whether there is one.
     */
    private boolean walk() {
        lastWalk = System.currentTimeMillis();
        RootChain before = reached;
        reached = rootFetcher.walk(before);
        if (reached == before) {
            return false;
        }
        policy.replace(reached);
        return true;
    }

    private void fetchDocument() throws IOException, VerificationFailure {
        DocumentVerifier current = reached == null ? verifier : verifier.by(TrustAnchors.ofRoot(reached.newest()));
        SignedDocument held = policy.document();
        if (held != null && reached != null && !reached.trusts(held)) {
            // It counts as none, so the server must not answer that it is current.
            held = null;
        }
        Request.Builder request = new Request.Builder().url(url)
                .header("Pinledger-Client", "version=" + (held == null ? 0 : held.payload().version()));
        // The tag of a document that was refused must not be sent: 304 would keep the client from ever getting another.
        if (held != null && entityTag != null) {
            request.header("If-None-Match", entityTag);
        }
        try (Response response = client.newCall(request.build()).execute()) {
            if (response.code() == 304 && held != null) {
                return;
            }
            if (response.code() != 200 || response.body() == null) {
                Listeners.tell(failures, new IOException(url + " answers " + response.code() + ", and no document"));
                return;
            }
            byte[] token = read(response.body().byteStream(), DocumentVerifier.SIZE_LIMIT);
            SignedDocument document = current.verify(token, held, now());
            if (policy.replace(reached, document)) {
                entityTag = response.header("ETag");
            }
        }
    }

    /**
     * Fetches the document unless that was tried a moment ago. A failure changes nothing: what is held still holds.
     *
     * @return Whether it was tried.
     */
    boolean fetchOccasionally() {
        // Where a document is held, a connection does not wait for another one's fetch: what is held judges it.
        boolean mayWait = policy.document() == null;
        try {
            if (!fetching.tryLock(mayWait ? CALL_SECONDS : 0, TimeUnit.SECONDS)) {
                return false;
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
        try {
            if (System.nanoTime() - lastAttempt < PAUSE_SECONDS * NANOSECONDS) {
                return false;
            }
            fetch();
        } catch (IOException | VerificationFailure | RuntimeException failure) {
            // The connection that waits is judged by the document that is held.
            Listeners.tell(failures, failure);
        } finally {
            fetching.unlock();
        }
        return true;
    }

    /** The bytes of a body, or of one that is larger than the limit so many that it is refused for its size. */
    static byte[] read(InputStream stream, int limit) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] buffer = new byte[8_192];
        // One chunk beyond the limit is enough.
        while (bytes.size() <= limit) {
            int count = stream.read(buffer);
            if (count < 0) {
                break;
            }
            bytes.write(buffer, 0, count);
        }
        return bytes.toByteArray();
    }

    private static long now() {
        return Math.floorDiv(System.currentTimeMillis(), 1000L);
    }
}
