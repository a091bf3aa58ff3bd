package com.pinledger.client;

import static com.pinledger.client.TestSigner.payload;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;

/** Tests of {@link DocumentFetcher} with roots of trust, against a server on 127.0.0.1. */
final class RootSelfTest {
    private static int failures;

    private final TestSigner rootKey = new TestSigner();
    private final TestSigner firstKey = new TestSigner();
    private final TestSigner secondKey = new TestSigner();
    private final TestRoot first = new TestRoot(rootKey, firstKey);
    private final TestRoot second = new TestRoot(rootKey, secondKey);

    /** What the server has: roots by their versions, and the document or nothing. */
    private final Map<String, byte[]> roots = new ConcurrentHashMap<>();
    private volatile byte[] document = new byte[0];
    private final List<String> requests = Collections.synchronizedList(new ArrayList<>());

    private final HttpServer server;
    private final List<ClientState> stored = new ArrayList<>();
    private boolean isTimeToWalk;
    private PinPolicy policy;
    private DocumentFetcher fetcher;

    private RootSelfTest() throws Exception {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::answer);
        server.start();
    }

    /** The number of checks that failed. */
    static int failures() throws Exception {
        RootSelfTest test = new RootSelfTest();
        try {
            test.kept();
            test.asked();
            test.revoked();
            test.withoutDocument();
            test.many();
            test.ended();
            test.refused();
            test.overtaken();
        } finally {
            test.server.stop(0);
        }
        return failures;
    }

    private void kept() throws Exception {
        RootChain chain = RootChain.of(first.signed(1)).with(first.signed(2)).with(second.signed(3));
        List<byte[]> kept = chain.kept();
        check("kept", String.valueOf(kept.size()), "2");
        check("restored", version(RootChain.of(first.signed(1)).restored(kept)), "3");
        check("newer release", version(RootChain.of(first.signed(2)).restored(kept)), "3");
        check("even newer release", version(RootChain.of(first.signed(5)).restored(kept)), "5");
        check("kept then", String.valueOf(RootChain.of(first.signed(5)).restored(kept).kept().size()), "0");
        byte[] forged = second.by(secondKey).signed(3);
        check("altered", version(RootChain.of(first.signed(1)).restored(Arrays.asList(kept.get(0), forged))), "2");
        check("damaged", version(RootChain.of(first.signed(1)).restored(Arrays.asList(new byte[3], kept.get(1)))), "1");
    }

    private void asked() throws Exception {
        start(first.signed(1));
        check("no document", fetch(), "false, asked document");
        document = firstKey.sign(payload(1, now()));
        check("document", fetch(), "true, asked document");
        isTimeToWalk = true;
        check("half an hour later", fetch(), "false, asked document 304 roots/2");
        roots.put("2", first.signed(2));
        check("next root", fetch(), "true, asked document 304 roots/2 roots/3");
        check("holds", held(), "root 2, document 1");
        check("stored", stored.size() + " times, " + stored.get(1).roots().kept().size() + " root", "2 times, 1 root");
        isTimeToWalk = false;
        check("current", fetch(), "false, asked document 304");
    }

    private void revoked() throws Exception {
        start(first.signed(1));
        document = firstKey.sign(payload(900, now()));
        check("a thief's document", fetch(), "true, asked document");
        roots.put("2", first.signed(2));
        roots.put("3", second.signed(3));
        document = secondKey.sign(payload(7, now()));
        check("revoked", fetch(), "true, asked document roots/2 roots/3 roots/4 document");
        check("replaced", held(), "root 3, document 7");
        ClientState last = stored.get(1);
        check("stored in one step", last.roots().kept().size() + " " + last.document().payload().version(), "2 7");
        DocumentVerifier verifier = verifier(last.roots());
        check("read back", String.valueOf(verifier.restore(last.document().token(), null).payload().version()), "7");
        check("the thief's read back", refusal(verifier, stored.get(0).document().token()), "unknown_key");
        document = firstKey.sign(payload(901, now()));
        check("the thief again", fetch(), "unknown_key, asked document roots/4");
        check("still", held(), "root 3, document 7");
    }

    private void withoutDocument() throws Exception {
        start(first.signed(1));
        document = firstKey.sign(payload(900, now()));
        fetch();
        roots.put("2", second.signed(2));
        isTimeToWalk = true;
        // The tag of a document that counts as none is not sent, or the server would say that it is current.
        check("old document still", fetch(), "unknown_key, asked document 304 roots/2 roots/3 document");
        document = new byte[0];
        check("no document yet", fetch(), "false, asked document roots/3");
        check("both stay", held(), "root 1, document 900");
        isTimeToWalk = false;
        document = secondKey.sign(payload(1, now()));
        check("document", fetch(), "true, asked document");
        check("both replaced", held(), "root 2, document 1");

        start(first.signed(1));
        isTimeToWalk = true;
        roots.put("2", second.signed(2));
        document = new byte[0];
        check("nothing held", fetch(), "true, asked document roots/2 roots/3");
        check("root alone", policy.document() + " " + version(policy.state().roots()), "null 2");
    }

    private void many() throws Exception {
        start(first.signed(1));
        document = firstKey.sign(payload(1, now()));
        fetch();
        TestRoot between = new TestRoot(rootKey, new TestSigner());
        for (int number = 2; number < 70; number++) {
            roots.put(String.valueOf(number), between.signed(number));
        }
        roots.put("70", second.signed(70));
        document = secondKey.sign(payload(1, now()));
        requests.clear();
        check("64 in one go", failure(), "unknown_key");
        check("asked", requests.size() + " " + requests.get(64), "66 roots/65");
        check("both stay", held(), "root 1, document 1");
        requests.clear();
        check("the rest", failure(), "true");
        check("asked then", requests.size() + " " + requests.get(1), "8 roots/66");
        check("both replaced", held(), "root 70, document 1");
    }

    private void ended() throws Exception {
        start(first.until("2001-01-01T00:00:00Z").signed(1));
        document = firstKey.sign(payload(1, now()));
        check("ended", fetch(), "root_expired, asked roots/2 document");
        policy.replace(verifier(policy.state().roots()).restore(document, null));
        document = firstKey.sign(payload(2, now()));
        check("ended again", fetch(), "root_expired, asked roots/2 document");
        check("still", held(), "root 1, document 1");
        roots.put("2", first.until("2002-01-01T00:00:00Z").signed(2));
        roots.put("3", first.signed(3));
        check("goes on", fetch(), "true, asked roots/2 roots/3 roots/4 document");
        check("holds", held(), "root 3, document 2");
    }

    private void refused() throws Exception {
        start(first.signed(1));
        isTimeToWalk = true;
        check("none", fetch() + ", " + fetcher.rootFailure(), "false, asked document roots/2, null");
        byte[][] wrong = {new byte[RootOfTrust.SIZE_LIMIT + 10_000], new byte[9], first.signed(3), first.by(firstKey).signed(2)};
        String[] codes = {"too_large", "malformed_root", "other_version", "missing_signatures"};
        for (int index = 0; index < wrong.length; index++) {
            roots.put("2", wrong[index]);
            check(codes[index], fetch(), "false, asked document roots/2");
            check("its code", fetcher.rootFailure().reason().code(), codes[index]);
        }
        roots.put("2", first.signed(2));
        roots.put("3", wrong[1]);
        check("as far as it goes", fetch() + ", " + version(policy.state().roots()), "true, asked document roots/2 roots/3, 2");
    }

    /** A document that was verified before another thread replaced the root must not come back. */
    private void overtaken() throws Exception {
        start(first.signed(1));
        SignedDocument late = verifier(policy.state().roots()).verify(firstKey.sign(payload(900, now())), null, now());
        roots.put("2", second.signed(2));
        document = secondKey.sign(payload(7, now()));
        fetch();
        check("overtaken", policy.replace(late) + ", " + held(), "false, root 2, document 7");
    }

    /** A client anew, with nothing but this root. */
    private void start(byte[] shipped) throws Exception {
        RootChain chain = RootChain.of(shipped);
        policy = new PinPolicy(new Device.Builder().build(), BuiltinPins.NONE,
                PinPolicy.WithoutDocument.PLATFORM_TRUST, chain);
        HttpUrl url = HttpUrl.get("http://127.0.0.1:" + server.getAddress().getPort() + "/");
        fetcher = new DocumentFetcher(new OkHttpClient(), url.resolve("document"), verifier(chain), policy,
                url.resolve("roots"), stored::add, failure -> { });
        roots.clear();
        stored.clear();
        document = new byte[0];
        isTimeToWalk = false;
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath().substring(1);
        byte[] body = path.equals("document") ? document : roots.getOrDefault(path.replace("roots/", ""), new byte[0]);
        String tag = "\"" + Arrays.hashCode(body) + "\"";
        boolean current = tag.equals(exchange.getRequestHeaders().getFirst("If-None-Match"));
        requests.add(current ? path + " 304" : path);
        exchange.getResponseHeaders().add("ETag", tag);
        boolean isThere = body.length > 0 && !current;
        exchange.sendResponseHeaders(current ? 304 : isThere ? 200 : 404, isThere ? body.length : -1);
        if (isThere) {
            exchange.getResponseBody().write(body);
        }
        exchange.close();
    }

    /** The result of a fetch, and what it asked the server for. */
    private String fetch() throws IOException {
        requests.clear();
        return failure() + ", asked " + String.join(" ", requests);
    }

    private String failure() throws IOException {
        fetcher.walkPause = isTimeToWalk ? 0 : Long.MAX_VALUE;
        try {
            return String.valueOf(fetcher.fetch());
        } catch (VerificationFailure failure) {
            return failure.reason().code();
        }
    }

    private static String refusal(DocumentVerifier verifier, byte[] token) {
        try {
            return String.valueOf(verifier.restore(token, null).payload().version());
        } catch (VerificationFailure failure) {
            return failure.reason().code();
        }
    }

    private String held() {
        return "root " + version(policy.state().roots()) + ", document " + policy.document().payload().version();
    }

    private static String version(RootChain chain) {
        return String.valueOf(chain.newest().version());
    }

    private static DocumentVerifier verifier(RootChain chain) {
        return DocumentVerifier.forDocuments(TrustAnchors.ofRoot(chain.newest()), "com.example.shop", "pinledger");
    }

    private static long now() {
        return System.currentTimeMillis() / 1000;
    }

    private static void check(String what, String result, String expected) {
        if (!result.equals(expected)) {
            failures++;
            System.out.println("FAILED: " + what + ": " + result + " instead of " + expected);
        }
    }
}
