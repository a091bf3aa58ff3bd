package com.pinledger.client;

import java.util.ArrayList;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The outcomes that one request tells the server. Without outcomes it tells which document the install holds. */
public final class ReportBatch {
    /** The most outcomes of a batch. */
    static final int LIMIT = 100;

    private final Map<String, Map<String, Object>> outcomes;
    private final byte[] body;

    ReportBatch(
            String install, String platform, String appVersion, long documentVersion, Map<String, Map<String, Object>> outcomes) {
        this.outcomes = outcomes;
        Map<String, Object> batch = new TreeMap<>();
        batch.put("install", install);
        if (platform != null) {
            batch.put("platform", platform);
        }
        AppVersion version = appVersion == null ? null : AppVersion.parse(appVersion);
        if (version != null) {
            batch.put("app_version", version.inReports());
        }
        batch.put("document_version", documentVersion);
        batch.put("outcomes", new ArrayList<>(outcomes.values()));
        this.body = CanonicalJson.bytes(batch);
    }

    /** The body of the request, to be sent over a connection that is not pinned. */
    public byte[] body() {
        return body.clone();
    }

    Set<String> ids() {
        return outcomes.keySet();
    }
}
