package com.pinledger.client;

import static com.pinledger.client.TestSigner.host;
import static com.pinledger.client.TestSigner.object;
import static com.pinledger.client.TestSigner.payload;
import static com.pinledger.client.TestSigner.policy;

import com.sun.net.httpserver.HttpServer;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;

/**
 * Tests of {@link PinledgerOkHttp} against servers on 127.0.0.1: {@code OkHttpSelfTest TEST_DIRECTORY}. It needs openssl and
 * python3.
 */
public final class OkHttpSelfTest {
    private static int failures;

    private final String directory;
    private final Path certificates = Files.createTempDirectory("pinledger-okhttp");
    private final TestSigner signer = new TestSigner();
    private final DocumentVerifier verifier =
            DocumentVerifier.forDocuments(signer.anchors(), "com.example.shop", "pinledger");
    private final PinPolicy pins = new PinPolicy(new Device.Builder().installId("3q2-7w").build(),
            BuiltinPins.NONE, PinPolicy.WithoutDocument.PLATFORM_TRUST);
    private final List<Judgement> judgements = Collections.synchronizedList(new ArrayList<>());
    private final OkHttpClient unpinned;
    private final OkHttpClient client;
    private final X509TrustManager trust;
    private long version = 1;

    private OkHttpSelfTest(String directory) throws Exception {
        this.directory = directory;
        int status = new ProcessBuilder("sh", directory + "/make_certificates.sh", certificates.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start().waitFor();
        if (status != 0) {
            throw new IOException("no certificates");
        }
        trust = OkHttpExample.trustManager(file("trusted.pem"));
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {trust}, null);
        unpinned = new OkHttpClient.Builder().sslSocketFactory(context.getSocketFactory(), trust)
                .dns(name -> Collections.singletonList(InetAddress.getByName("127.0.0.1"))).build();
        client = PinledgerOkHttp.pinned(unpinned, pins, new PkixChainValidator(trust), null, judgements::add);
    }

    public static void main(String[] arguments) throws Exception {
        OkHttpSelfTest test = new OkHttpSelfTest(arguments[0]);
        for (String limit : new String[] {"1.3", "1.2"}) {
            try (TestServer server = new TestServer("python3", test.directory + "/tls_server.py",
                    test.file("attack-chain.pem"), test.file("server.key"), limit)) {
                test.pins(server);
                test.pooled(server);
                test.resumed(server);
                test.webSockets(server);
            }
        }
        test.shuffled();
        test.multiplexed();
        test.fetched();
        test.example();
        test.spki();
        test.observed();
        failures += RootSelfTest.failures();
        failures += KeySelfTest.failures();
        System.out.println(failures == 0 ? "all right" : failures + " failures");
        System.exit(failures == 0 ? 0 : 1);
    }

    private void pins(TestServer server) throws Exception {
        String url = url(server);
        for (String name : new String[] {"server", "intermediate", "root"}) {
            hold("enforce", pin(name));
            check(name, get(url), "200 matched/candidate_none");
            check(name + " at the server", server.take(), "connection *, request /");
        }
        for (String name : new String[] {"pinned", "foreign-root"}) {
            hold("enforce", pin(name));
            check(name + " appended", get(url), "PinRefusedException refused/candidate_none");
            check(name + " at the server", server.take(), "connection *");
        }
        hold("report_only", pin("pinned"));
        check("report only", get(url), "200 mismatched/candidate_none");
        hold("off", pin("pinned"));
        check("off", get(url), "200 unpinned/candidate_none");
        hold("enforce");
        check("no pins", get(url), "PinRefusedException refused/candidate_none");
        pins.replace(document(payload(++version, now())));
        check("unknown host", get(url), "200 unpinned/host_unknown");
        server.take();
    }

    private void pooled(TestServer server) throws Exception {
        String url = url(server);
        hold("enforce", pin("server"));
        check("first", get(url), "200 matched/candidate_none");
        server.take();
        check("same connection and document", getKeeping(url), "200");
        hold("enforce", pin("pinned"));
        check("new document", getKeeping(url), "PinRefusedException refused/candidate_none");
        check("no request was written", server.take(), "request /");
        Map<String, Object> switched = payload(++version, now(), host("api.example.com", policy("enforce", pin("pinned"))));
        switched.put("kill_switches", Collections.singletonList(
                object("scope", "app", "engaged_at", now(), "expires_at", now() + 3600)));
        pins.replace(document(switched));
        check("kill switch", getKeeping(url), "200 unpinned/kill_switch_engaged");
        hold("enforce", pin("pinned"));
        check("released", getKeeping(url), "PinRefusedException refused/candidate_none");
        check("one request", server.take(), "connection *, request /");
        hold("enforce", pin("root"));
        check("corrected", getKeeping(url), "200 matched/candidate_none");
        server.take();
    }

    private void resumed(TestServer server) throws Exception {
        String url = url(server);
        hold("enforce", pin("server"));
        get(url);
        server.take();
        check("matched", get(url), "200 matched/candidate_none");
        check("resumed", server.take(), "connection resumed, request /");
        hold("enforce", pin("pinned"));
        check("refused", get(url), "PinRefusedException refused/candidate_none");
        check("resumed and refused", server.take(), "connection resumed");
    }

    private void webSockets(TestServer server) throws Exception {
        String url = url(server);
        unpinned.connectionPool().evictAll();
        hold("enforce", pin("server"));
        check("socket", open(url + "socket"), "open matched/candidate_none");
        check("failed upgrade", open(url + "none"), "ProtocolException matched/candidate_none");
        server.take();
        hold("enforce", pin("pinned"));
        check("socket after a failed upgrade", open(url + "socket"), "PinRefusedException refused/candidate_none");
        check("no upgrade", server.take(), "connection *");
    }

    private void shuffled() throws Exception {
        try (TestServer server = new TestServer("python3", directory + "/tls_server.py",
                file("shuffled-chain.pem"), file("server.key"))) {
            hold("enforce", pin("intermediate"));
            check("shuffled", get(url(server)), "200 matched/candidate_none");
            hold("enforce", pin("pinned"));
            check("appended in between", get(url(server)), "PinRefusedException refused/candidate_none");
        }
    }

    private void multiplexed() throws Exception {
        try (TestServer server = new TestServer(
                "node", directory + "/h2_server.js", file("attack-chain.pem"), file("server.key"))) {
            String url = url(server);
            String other = url.replace("api", "other");
            pins.replace(document(payload(++version, now(), host("api.example.com", policy("enforce", pin("server"))),
                    host("other.example.com", policy("enforce", pin("pinned"))))));
            check("first", get(url), "200 matched/candidate_none");
            server.take();
            check("other host", getKeeping(other), "PinRefusedException refused/candidate_none");
            check("a connection of its own", server.take(), "connection *, closed");
            hold("enforce", pin("pinned"));
            check("new document", getKeeping(url), "PinRefusedException refused/candidate_none");
            check("closed", server.take(), "closed");
            hold("enforce", pin("root"));
            check("again", getKeeping(url), "200 matched/candidate_none");
        } catch (IOException exception) {
            System.out.println("skipped HTTP/2: " + exception.getMessage());
        }
    }

    /** An observer that fails ends neither a connection that matches nor the refusal of one that does not. */
    private void observed() throws Exception {
        try (TestServer server = new TestServer(
                "python3", directory + "/tls_server.py", file("attack-chain.pem"), file("server.key"))) {
            OkHttpClient observed = PinledgerOkHttp.pinned(unpinned, pins, new PkixChainValidator(trust), null, judgement -> {
                throw new IllegalStateException("an observer that fails");
            });
            for (String name : new String[] {"server", "pinned"}) {
                hold("enforce", pin(name));
                unpinned.connectionPool().evictAll();
                String result;
                try (Response response = observed.newCall(new Request.Builder().url(url(server)).build()).execute()) {
                    result = String.valueOf(response.code());
                } catch (IOException | RuntimeException exception) {
                    result = exception.getClass().getSimpleName();
                }
                check("observed, " + name, result, name.equals("server") ? "200" : "PinRefusedException");
            }
        }
    }

    private void fetched() throws Exception {
        byte[][] served = {new byte[0]};
        List<String> tags = new ArrayList<>();
        HttpServer origin = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        origin.createContext("/", exchange -> {
            String tag = "\"" + Arrays.hashCode(served[0]) + "\"";
            String given = exchange.getRequestHeaders().getFirst("If-None-Match");
            tags.add(String.valueOf(given));
            exchange.getResponseHeaders().add("ETag", tag);
            boolean current = tag.equals(given);
            exchange.sendResponseHeaders(current ? 304 : 200, current ? -1 : served[0].length);
            exchange.getResponseBody().write(current ? new byte[0] : served[0]);
            exchange.close();
        });
        origin.start();
        PinPolicy policy = new PinPolicy(new Device.Builder().build(), BuiltinPins.NONE,
                PinPolicy.WithoutDocument.PLATFORM_TRUST);
        HttpUrl address = HttpUrl.get("http://127.0.0.1:" + origin.getAddress().getPort() + "/");
        List<ClientState> stored = new ArrayList<>();
        BlockingQueue<Exception> failures = new LinkedBlockingQueue<>();
        DocumentFetcher fetcher = new DocumentFetcher(unpinned, address, verifier, policy, stored::add, failures::add);
        served[0] = signer.sign(payload(5, now()));
        check("fetched", String.valueOf(fetcher.fetch()), "true");
        check("current", String.valueOf(fetcher.fetch()), "false");
        served[0] = signer.sign(payload(4, now()));
        check("older", failure(fetcher), "older_version");
        check("older again", failure(fetcher), "older_version");
        served[0] = new byte[DocumentVerifier.SIZE_LIMIT + 100_000];
        check("large", failure(fetcher), "too_large");
        boolean sameTag = tags.get(2).equals(tags.get(1)) && tags.get(3).equals(tags.get(1));
        check("tags", String.valueOf(tags.get(0).equals("null") && sameTag), "true");
        check("held", String.valueOf(policy.document().payload().version()), "5");
        check("stored", stored.size() + " " + stored.get(0).document().payload().version(), "1 5");
        check("told by fetch itself", String.valueOf(failures), "[]");
        ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();
        ScheduledFuture<?> fetches = fetcher.fetchRegularly(executor);
        boolean isTold = failures.poll(60, TimeUnit.SECONDS) instanceof VerificationFailure;
        check("told where no one has asked", String.valueOf(isTold), "true");
        // It goes on: a failure has not ended it.
        check("goes on", String.valueOf(fetches.isDone()), "false");
        executor.shutdown();
        check("ended", String.valueOf(executor.awaitTermination(60, TimeUnit.SECONDS)), "true");
        failingStore(address, served);
        origin.stop(0);
        withoutDocument(address);
    }

    /** A store that fails is told, costs no document, and is tried again. */
    private void failingStore(HttpUrl address, byte[][] served) throws Exception {
        PinPolicy policy = new PinPolicy(new Device.Builder().build(), BuiltinPins.NONE,
                PinPolicy.WithoutDocument.PLATFORM_TRUST);
        List<String> told = new ArrayList<>();
        int[] writes = {0};
        DocumentFetcher fetcher = new DocumentFetcher(unpinned, address, verifier, policy, state -> {
            writes[0]++;
            if (writes[0] == 1) {
                throw new IOException("full");
            }
        }, failure -> told.add(failure.getMessage()));
        served[0] = signer.sign(payload(9, now()));
        check("held without a store", fetcher.fetch() + " " + policy.document().payload().version(), "true 9");
        fetcher.fetch();
        fetcher.fetch();
        check("stored later", told + " " + writes[0], "[full] 2");
        served[0] = new byte[DocumentVerifier.SIZE_LIMIT + 100_000];
    }

    /** An app chooses what becomes of connections while no document reaches it, and learns that none does. */
    private void withoutDocument(HttpUrl address) throws Exception {
        try (TestServer server = new TestServer("python3", directory + "/tls_server.py", file("attack-chain.pem"),
                file("server.key"))) {
            for (PinPolicy.WithoutDocument choice : PinPolicy.WithoutDocument.values()) {
                PinPolicy policy = new PinPolicy(new Device.Builder().build(), BuiltinPins.NONE, choice);
                List<Exception> failures = new ArrayList<>();
                DocumentFetcher fetcher =
                        new DocumentFetcher(unpinned, address, verifier, policy, state -> { }, failures::add);
                OkHttpClient pinned =
                        PinledgerOkHttp.pinned(unpinned, policy, new PkixChainValidator(trust), fetcher, judgement -> { });
                String result;
                try (Response response = pinned.newCall(new Request.Builder().url(url(server)).build()).execute()) {
                    result = String.valueOf(response.code());
                } catch (PinRefusedException refused) {
                    result = refused.judgement().verdict().code();
                }
                boolean blocks = choice == PinPolicy.WithoutDocument.BLOCK;
                check("without a document, " + choice, result + " " + failures.size(), blocks ? "refused_without_document 1" : "200 1");
            }
        }
    }

    private void example() throws Exception {
        byte[][] served = {new byte[0]};
        HttpServer origin = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        origin.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, served[0].length);
            exchange.getResponseBody().write(served[0]);
            exchange.close();
        });
        origin.start();
        Files.write(certificates.resolve("keys.json"), signer.keySet().getBytes(StandardCharsets.UTF_8));
        try (TestServer server = new TestServer("python3", directory + "/tls_server.py",
                file("attack-chain.pem"), file("server.key"))) {
            String[] arguments = {"http://127.0.0.1:" + origin.getAddress().getPort() + "/", file("keys.json"),
                "com.example.shop", "pinledger", "3q2-7w", "https://localhost:" + server.port + "/", file("trusted.pem")};
            served[0] = signer.sign(payload(1, now(), host("localhost", policy("enforce", pin("root")))));
            check("connects", run(arguments), "0");
            served[0] = signer.sign(payload(1, now(), host("localhost", policy("enforce", pin("pinned")))));
            check("refuses", run(arguments), "3");
            served[0] = new TestSigner().sign(payload(1, now()));
            check("wrong document", run(arguments), "1");
            TestRoot root = new TestRoot(new TestSigner(), signer);
            Files.write(certificates.resolve("keys.json"), root.signed(1));
            served[0] = signer.sign(payload(1, now(), host("localhost", policy("enforce", pin("root")))));
            check("connects by a root of trust", run(arguments), "0");
            Files.write(certificates.resolve("keys.json"), root.by(new TestSigner()).signed(1));
            check("a root without its own signature", run(arguments), "1");
        }
        origin.stop(0);
    }

    private void spki() throws Exception {
        for (String name : new String[] {"server", "intermediate", "root"}) {
            X509Certificate certificate = certificate(name);
            boolean same = Arrays.equals(SpkiPin.subjectPublicKeyInfo(certificate), certificate.getPublicKey().getEncoded());
            check("key of " + name, String.valueOf(same), "true");
        }
        for (X509Certificate certificate : OkHttpExample.trustManager(null).getAcceptedIssuers()) {
            boolean same = Arrays.equals(SpkiPin.subjectPublicKeyInfo(certificate), certificate.getPublicKey().getEncoded());
            check("key of " + certificate.getSubjectX500Principal(), String.valueOf(same), "true");
        }
    }

    private static String run(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(Arrays.asList(System.getProperty("java.home") + "/bin/java", "-cp",
                System.getProperty("java.class.path"), OkHttpExample.class.getName()));
        command.addAll(Arrays.asList(arguments));
        return String.valueOf(new ProcessBuilder(command).inheritIO().start().waitFor());
    }

    private static String failure(DocumentFetcher fetcher) throws IOException {
        try {
            return String.valueOf(fetcher.fetch());
        } catch (VerificationFailure failure) {
            return failure.reason().code();
        }
    }

    /** Makes a document hold for the host, with a higher version each time. */
    private void hold(String mode, String... digests) throws Exception {
        pins.replace(document(payload(++version, now(), host("api.example.com", policy(mode, digests)))));
    }

    private SignedDocument document(Map<String, Object> payload) throws Exception {
        return verifier.verify(signer.sign(payload), null, now());
    }

    /** Fetches over a new connection, and says what the observer learned. */
    private String get(String url) {
        unpinned.connectionPool().evictAll();
        return getKeeping(url);
    }

    private String getKeeping(String url) {
        judgements.clear();
        String result;
        try (Response response = client.newCall(new Request.Builder().url(url).build()).execute()) {
            response.body().string();
            result = String.valueOf(response.code());
        } catch (IOException exception) {
            result = exception.getClass().getSimpleName();
        }
        return result + told();
    }

    private String open(String url) throws Exception {
        judgements.clear();
        CompletableFuture<String> result = new CompletableFuture<>();
        client.newWebSocket(new Request.Builder().url(url).build(), new WebSocketListener() {
            @Override
            public void onOpen(WebSocket socket, Response response) {
                result.complete("open");
                socket.cancel();
            }

            @Override
            public void onFailure(WebSocket socket, Throwable failure, Response response) {
                result.complete(failure.getClass().getSimpleName());
            }
        });
        return result.get(10, TimeUnit.SECONDS) + told();
    }

    private String told() {
        StringBuilder text = new StringBuilder();
        for (Judgement judgement : judgements) {
            text.append(' ').append(judgement.verdict().code()).append('/').append(judgement.decision().reason());
        }
        return text.toString();
    }

    private String file(String name) {
        return certificates.resolve(name).toString();
    }

    private String pin(String name) throws Exception {
        return SpkiPin.of(Collections.singletonList(certificate(name))).get(0);
    }

    private X509Certificate certificate(String name) throws Exception {
        try (InputStream file = new FileInputStream(file(name + ".pem"))) {
            return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(file);
        }
    }

    private static String url(TestServer server) {
        return "https://api.example.com:" + server.port + "/";
    }

    private static long now() {
        return System.currentTimeMillis() / 1000;
    }

    /** Compares with what is expected, where a star stands for any words without a comma. */
    private static void check(String what, String result, String expected) {
        String pattern = "\\Q" + expected.replace("*", "\\E[^,]*\\Q") + "\\E";
        if (!result.matches(pattern)) {
            failures++;
            System.out.println("FAILED: " + what + ": " + result + " instead of " + expected);
        }
    }
}
