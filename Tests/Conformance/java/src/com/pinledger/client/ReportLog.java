package com.pinledger.client;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The outcomes of an install's connections that the server has not been told of.
 *
 * <p>It lives in memory. An app should keep {@link ReportBatch#body} in its store until the server answers, so that nothing
 * is lost.
 */
public final class ReportLog {
    private static final int INSTALL_BYTES = 16;
    private static final int COUNT_LIMIT = 1_000_000;
    private static final int ID_BYTES = 16;

    private final byte[] install;
    private final Map<String, Entry> unsent = new LinkedHashMap<>();
    /** The ids of what was told, with their days: they are told once. */
    private final Map<String, String> told = new HashMap<>();

    /** Creates an empty log of the install with this id: 16 random bytes in base64url. */
    public ReportLog(String install) throws MalformedException {
        this.install = Base64Text.decodeUrl(install);
        if (this.install.length != INSTALL_BYTES) {
            throw new MalformedException("no id of 16 bytes");
        }
    }

    /** Whether the install reports on the day of a time, if the app wants the reports of a share of its installs. */
    public boolean isSampled(long now, long basisPoints) {
        byte[] digest = Hashes.sha256(Hashes.joined(ascii("pinledger-reports/v1/sample"), install, ascii(day(now))));
        return Hashes.bucket(digest) < basisPoints;
    }

    /** Records a connection, unless such connections are not reported or the server was told of the same outcome on that day. */
    public synchronized void add(ReportedConnection connection) {
        Map<String, Object> outcome = connection.outcome();
        if (outcome == null) {
            return;
        }
        String day = day(connection.time());
        byte[] digest = Hashes.sha256(Hashes.joined(
                ascii("pinledger-reports/v1/id"), install, ascii(day), CanonicalJson.bytes(outcome)));
        String id = Base64Text.encodeUrl(Arrays.copyOf(digest, ID_BYTES));
        if (told.containsKey(id)) {
            return;
        }
        Entry entry = unsent.get(id);
        if (entry == null) {
            unsent.put(id, new Entry(id, day, connection.time(), outcome));
        } else {
            entry.count = Math.min(COUNT_LIMIT, entry.count + 1);
        }
    }

    /**
     * The next batch to send: the oldest outcomes, or none.
     *
     * @param platform {@code ios}, {@code android}, {@code web}, {@code server} or {@code other}; null to say nothing.
     * @param appVersion The app's version; null if it is unknown.
     * @param documentVersion The version of the document that the client holds; 0 for none.
     */
    public synchronized ReportBatch next(String platform, String appVersion, long documentVersion) {
        Map<String, Map<String, Object>> outcomes = new LinkedHashMap<>();
        for (Entry entry : unsent.values()) {
            if (outcomes.size() == ReportBatch.LIMIT) {
                break;
            }
            outcomes.put(entry.id, entry.written());
        }
        return new ReportBatch(Base64Text.encodeUrl(install), platform, appVersion, documentVersion, outcomes);
    }

    /**
     * Forgets the outcomes of a batch: after 202, or after a refusal that would be repeated.
     *
     * @param now The time by the client's clock; what was told on other days than today and yesterday is forgotten altogether.
     */
    public synchronized void forget(ReportBatch batch, long now) {
        for (String id : batch.ids()) {
            Entry entry = unsent.remove(id);
            if (entry != null) {
                told.put(id, entry.day);
            }
        }
        told.values().retainAll(Arrays.asList(day(now), day(now - 86_400)));
    }

    private static String day(long time) {
        return Instant.ofEpochSecond(time).toString().substring(0, 10);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static final class Entry {
        final String id;
        final String day;
        final long time;
        final Map<String, Object> outcome;
        int count = 1;

        Entry(String id, String day, long time, Map<String, Object> outcome) {
            this.id = id;
            this.day = day;
            this.time = time;
            this.outcome = outcome;
        }

        Map<String, Object> written() {
            Map<String, Object> written = new LinkedHashMap<>(outcome);
            written.put("count", count);
            written.put("time", Instant.ofEpochSecond(time).toString());
            written.put("id", id);
            return written;
        }
    }
}
