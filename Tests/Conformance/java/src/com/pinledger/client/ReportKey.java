package com.pinledger.client;

import java.nio.charset.StandardCharsets;

/** A key with which an app signs its reports. */
public final class ReportKey {
    private static final String PREFIX = "tlsec_";
    private static final int SECRET_BYTES = 32;

    private final String id;
    private final byte[] secret;

    /** Creates a key from its id ({@code tlk_…}) and its secret ({@code tlsec_…}). */
    public ReportKey(String id, String secret) throws MalformedException {
        if (!secret.startsWith(PREFIX)) {
            throw new MalformedException("no secret of a key for reports");
        }
        this.id = id;
        this.secret = Base64Text.decodePadded(secret.substring(PREFIX.length()));
        if (this.secret.length != SECRET_BYTES) {
            throw new MalformedException("no secret of 32 bytes");
        }
    }

    /** The value of {@code Pinledger-Signature} for a body that is sent at a time. */
    public String signature(String app, long time, byte[] body) {
        byte[] head = ("pinledger-reports/v1\n" + app + "\n" + time + "\n").getBytes(StandardCharsets.UTF_8);
        byte[] message = new byte[head.length + body.length];
        System.arraycopy(head, 0, message, 0, head.length);
        System.arraycopy(body, 0, message, head.length, body.length);
        String mac = Base64Text.encodePadded(Hashes.hmac(secret, message));
        return "keyid=\"" + id + "\", time=" + time + ", mac=:" + mac + ":";
    }
}
