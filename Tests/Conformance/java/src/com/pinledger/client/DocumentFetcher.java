package com.pinledger.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/** Fetches an app's document, and lets it hold if it passes every rule. */
public final class DocumentFetcher {
    private static final long NANOSECONDS = 1_000_000_000L;
    private static final long PAUSE_SECONDS = 10;

    private final OkHttpClient client;
    private final HttpUrl url;
    private final DocumentVerifier verifier;
    private final PinPolicy policy;
    private static final long CALL_SECONDS = 15;

    private final ReentrantLock fetching = new ReentrantLock();
    private String entityTag;
    private volatile long lastAttempt = System.nanoTime() - PAUSE_SECONDS * NANOSECONDS;

    /**
     * Creates a fetcher.
     *
     * @param client A client that is not pinned: a wrong pin must not keep the document away that corrects it.
     */
    public DocumentFetcher(OkHttpClient client, HttpUrl url, DocumentVerifier verifier, PinPolicy policy) {
        // A service that drips its answer must not hold the app up, and documents come from their own address.
        this.client = client.newBuilder().callTimeout(CALL_SECONDS, TimeUnit.SECONDS).followRedirects(false).build();
        this.url = url;
        this.verifier = verifier;
        this.policy = policy;
    }

    /**
     * Fetches the document.
     *
     * @return Whether another one holds now. If not, what was held is current, or the server has none at the moment.
     * @throws VerificationFailure if the document that was served is refused; what was held still holds
     */
    public boolean fetch() throws IOException, VerificationFailure {
        fetching.lock();
        try {
            return fetchAlone();
        } finally {
            // The pause counts from the end: calls that waited for a slow attempt must not make another one each.
            lastAttempt = System.nanoTime();
            fetching.unlock();
        }
    }

    private boolean fetchAlone() throws IOException, VerificationFailure {
        SignedDocument held = policy.document();
        Request.Builder request = new Request.Builder().url(url)
                .header("Pinledger-Client", "version=" + (held == null ? 0 : held.payload().version()));
        // The tag of a document that was refused must not be sent: 304 would keep the client from ever getting another.
        if (held != null && entityTag != null) {
            request.header("If-None-Match", entityTag);
        }
        try (Response response = client.newCall(request.build()).execute()) {
            if (response.code() != 200 || response.body() == null) {
                return false;
            }
            byte[] token = read(response.body().byteStream());
            SignedDocument document = verifier.verify(token, held, Math.floorDiv(System.currentTimeMillis(), 1000L));
            if (!policy.replace(document)) {
                return false;
            }
            entityTag = response.header("ETag");
            return true;
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
        } catch (IOException | VerificationFailure failure) {
            // The connection that waits is judged by the document that is held.
        } finally {
            fetching.unlock();
        }
        return true;
    }

    private static byte[] read(InputStream stream) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] buffer = new byte[8_192];
        // One chunk beyond the limit is enough for the verifier to refuse the document as too large.
        while (bytes.size() <= DocumentVerifier.SIZE_LIMIT) {
            int count = stream.read(buffer);
            if (count < 0) {
                break;
            }
            bytes.write(buffer, 0, count);
        }
        return bytes.toByteArray();
    }
}
