package com.pinledger.client;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A command that answers the cases of the conformance kit: one in JSON on each line of its input, one result on each of its
 * output.
 */
public final class Runner {
    private static final int DEPTH_LIMIT = 64;

    private Runner() {}

    public static void main(String[] arguments) throws IOException {
        InputStream input = new BufferedInputStream(System.in, 1 << 16);
        PrintStream output = new PrintStream(System.out, false, "UTF-8");
        for (byte[] line = line(input); line != null; line = line(input)) {
            output.print(CanonicalJson.text(answer(line)) + "\n");
            output.flush();
        }
    }

    /** The result of one case; a line that is no case has {@code error} as its result, so that the order of results is kept. */
    static Map<String, Object> answer(byte[] line) {
        try {
            Members members = new Members(Json.parse(line, DEPTH_LIMIT));
            String kind = members.text("kind");
            switch (kind) {
                case "verify":
                    return verify(members);
                case "decide":
                    return decide(members);
                case "version":
                    return version(members);
                case "root":
                    return root(members);
                case "report":
                    return report(members);
                default:
                    throw new MalformedException("an unknown kind of case");
            }
        } catch (MalformedException exception) {
            Map<String, Object> result = new TreeMap<>();
            result.put("error", String.valueOf(exception.getMessage()));
            return result;
        }
    }

    private static Map<String, Object> verify(Members members) throws MalformedException {
        TrustAnchors anchors = members.has("root")
                ? TrustAnchors.ofRoot(newestRoot(members)) : TrustAnchors.of(members.required("keys"));
        DocumentVerifier verifier =
                DocumentVerifier.forDocuments(anchors, members.text("app"), members.text("issuer"));
        SignedDocument held = held(verifier, members.optionalText("held"));
        byte[] token = Base64Text.decodePadded(members.text("document"));
        Long now = members.optionalInteger("now", Long.MIN_VALUE, Long.MAX_VALUE);
        Map<String, Object> result = new TreeMap<>();
        try {
            SignedDocument document = now == null ? verifier.restore(token, held) : verifier.verify(token, held, now);
            result.put("verdict", "accepted");
            result.put("version", document.payload().version());
            if (now != null) {
                result.put("stale", document.isStale(now));
            }
        } catch (VerificationFailure failure) {
            result.put("verdict", "refused");
            result.put("reason", failure.reason().code());
        }
        return result;
    }

    /** The document that the client holds, as if it were read back from its store: one that fails a rule counts as none. */
    private static SignedDocument held(DocumentVerifier verifier, String text) {
        if (text == null) {
            return null;
        }
        try {
            return verifier.restore(text.getBytes(StandardCharsets.UTF_8), null);
        } catch (VerificationFailure failure) {
            return null;
        }
    }

    private static Map<String, Object> root(Members members) throws MalformedException {
        RootOfTrust newest = members.has("root") ? newestRoot(members) : null;
        byte[] next = Base64Text.decodePadded(members.text("next"));
        Map<String, Object> result = new TreeMap<>();
        try {
            RootOfTrust root = newest == null ? RootOfTrust.shipped(next) : newest.next(next);
            result.put("verdict", "accepted");
            result.put("version", root.version());
            result.put("expires", root.endsAt());
            result.put("document_keys", TrustAnchors.ofRoot(root).keyIds());
        } catch (RootFailure failure) {
            result.put("verdict", "refused");
            result.put("reason", failure.reason().code());
        }
        return result;
    }

    /** The case's {@code root}. Any root that a client has also passes the rules of one that ships with the app. */
    private static RootOfTrust newestRoot(Members members) throws MalformedException {
        try {
            return RootOfTrust.shipped(members.text("root").getBytes(StandardCharsets.UTF_8));
        } catch (RootFailure failure) {
            throw new MalformedException("no root that a client can have: " + failure.getMessage());
        }
    }

    private static Map<String, Object> decide(Members members) throws MalformedException {
        Evaluator evaluator = new Evaluator(Payload.read(members.required("payload")));
        List<Object> decisions = new ArrayList<>();
        for (Object value : members.list("questions", 0, Integer.MAX_VALUE)) {
            Members question = new Members(value);
            Decision decision =
                    evaluator.decide(question.text("host"), device(question.required("device")), number(question, "now"));
            Map<String, Object> result = new TreeMap<>();
            result.put("outcome", decision.outcome().code());
            result.put("reason", decision.reason());
            putIfKnown(result, "arm", decision.arm());
            putIfKnown(result, "host", decision.host());
            result.put("pins", decision.pins());
            Verdict verdict = question.has("chain") ? decision.verdict(texts(question, "chain")) : null;
            putIfKnown(result, "verdict", verdict == null ? null : verdict.code());
            decisions.add(result);
        }
        Map<String, Object> result = new TreeMap<>();
        result.put("decisions", decisions);
        return result;
    }

    private static Device device(Object value) throws MalformedException {
        Members members = new Members(value);
        return new Device.Builder()
                .deviceId(members.optionalText("device_id"))
                .userId(members.optionalText("user_id"))
                .installId(members.optionalText("install_id"))
                .appVersion(members.optionalText("app_version"))
                .build(members.has("build") ? (Long) number(members, "build") : null)
                .country(members.optionalText("country"))
                .build();
    }

    private static Map<String, Object> version(Members members) throws MalformedException {
        AppVersion left = AppVersion.parse(members.text("a"));
        AppVersion right = AppVersion.parse(members.text("b"));
        Map<String, Object> result = new TreeMap<>();
        if (left != null && right != null) {
            result.put("order", Integer.signum(left.compareTo(right)));
        }
        return result;
    }

    private static Map<String, Object> report(Members members) throws MalformedException {
        ReportLog log = new ReportLog(members.text("install"));
        long now = members.integer("now", 0, Payload.TIME_LIMIT);
        Map<String, Object> result = new TreeMap<>();
        boolean sampled = log.isSampled(now, number(members, "share"));
        result.put("sampled", sampled);
        if (!sampled) {
            return result;
        }
        for (Object value : members.list("connections", 0, Integer.MAX_VALUE)) {
            log.add(connection(new Members(value)));
        }
        ReportBatch batch = log.next(
                members.optionalText("platform"), members.optionalText("app_version"), number(members, "document_version"));
        Members key = new Members(members.required("key"));
        ReportKey signer = new ReportKey(key.text("id"), key.text("secret"));
        result.put("body", Base64Text.encodePadded(batch.body()));
        result.put("signature", signer.signature(members.text("app"), now, batch.body()));
        return result;
    }

    private static ReportedConnection connection(Members members) throws MalformedException {
        return new ReportedConnection(members.text("host"), members.integer("time", 0, Payload.TIME_LIMIT),
                Verdict.of(members.text("result")), members.text("reason"), members.optionalText("arm"),
                number(members, "document_version"), members.has("chain") ? texts(members, "chain") : null);
    }

    private static long number(Members members, String name) throws MalformedException {
        return members.integer(name, Long.MIN_VALUE, Long.MAX_VALUE);
    }

    private static List<String> texts(Members members, String name) throws MalformedException {
        List<String> texts = new ArrayList<>();
        for (Object value : members.list(name, 0, Integer.MAX_VALUE)) {
            texts.add(Members.textOf(value, name));
        }
        return texts;
    }

    private static void putIfKnown(Map<String, Object> result, String name, Object value) {
        if (value != null) {
            result.put(name, value);
        }
    }

    /** The bytes up to the next line feed, or null at the end. A reader of text would also end lines at a carriage return. */
    private static byte[] line(InputStream input) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int next = input.read();
        if (next < 0) {
            return null;
        }
        for (; next >= 0 && next != '\n'; next = input.read()) {
            line.write(next);
        }
        return line.toByteArray();
    }
}
