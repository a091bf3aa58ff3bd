package com.pinledger.client;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.HttpUrl;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/**
 * A command that fetches an app's document, and then a page through a client that is pinned by it.
 *
 * <p>The app's trust anchors are a JWK Set or a root of trust, whose next ones it asks for. It has no store: an app gives one to
 * its {@link DocumentFetcher}, and at its next start makes its policy of {@link RootChain#restored} and of the document that
 * {@link DocumentVerifier#restore} accepts by these roots.
 *
 * <p>Its status is 0 if the connection was made, 3 if it was refused by pins, and 1 for other failures.
 */
public final class OkHttpExample {
    private static final int REFUSED_BY_PINS = 3;

    private OkHttpExample() {}

    public static void main(String[] arguments) {
        if (arguments.length < 6 || arguments.length > 7) {
            System.err.println("usage: OkHttpExample DOCUMENT_URL KEYS.json|ROOT.json APP ISSUER INSTALL_ID HTTPS_URL"
                    + " [TRUSTED.pem]");
            System.exit(1);
        }
        int status;
        try {
            status = run(arguments);
        } catch (PinRefusedException exception) {
            System.out.println("refused: " + exception.getMessage());
            status = REFUSED_BY_PINS;
        } catch (VerificationFailure failure) {
            System.out.println("document refused: " + failure.reason().code());
            status = 1;
        } catch (RootFailure failure) {
            System.out.println("root refused: " + failure.reason().code());
            status = 1;
        } catch (IOException | GeneralSecurityException | MalformedException | IllegalArgumentException exception) {
            System.out.println("failed: " + exception);
            status = 1;
        }
        System.exit(status);
    }

    private static int run(String[] arguments)
            throws IOException, GeneralSecurityException, MalformedException, VerificationFailure, RootFailure {
        X509TrustManager trust = trustManager(arguments.length > 6 ? arguments[6] : null);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {trust}, null);
        OkHttpClient unpinned = new OkHttpClient.Builder().sslSocketFactory(context.getSocketFactory(), trust).build();

        byte[] shipped = Files.readAllBytes(Paths.get(arguments[1]));
        RootChain roots = isRoot(shipped) ? RootChain.of(shipped) : null;
        TrustAnchors anchors = roots == null ? TrustAnchors.parse(shipped) : TrustAnchors.ofRoot(roots.newest());
        DocumentVerifier verifier = DocumentVerifier.forDocuments(anchors, arguments[2], arguments[3]);
        PinPolicy policy = new PinPolicy(new Device.Builder().installId(arguments[4]).build(), BuiltinPins.NONE,
                PinPolicy.WithoutDocument.BLOCK, roots);
        HttpUrl url = HttpUrl.get(arguments[0]);
        DocumentFetcher fetcher = roots == null
                ? new DocumentFetcher(unpinned, url, verifier, policy, state -> { }, OkHttpExample::print)
                : new DocumentFetcher(unpinned, url, verifier, policy, url.resolve("../../roots"), state -> { },
                        OkHttpExample::print);
        fetcher.fetch();
        if (policy.document() == null) {
            throw new IOException("the server has no document");
        }
        if (roots != null) {
            System.out.println("root: version " + policy.state().roots().newest().version());
        }
        System.out.println("document: version " + policy.document().payload().version());

        ChainValidator validator = new PkixChainValidator(trust);
        OkHttpClient client = PinledgerOkHttp.pinned(unpinned, policy, validator, fetcher, OkHttpExample::print);
        try (Response response = client.newCall(new Request.Builder().url(arguments[5]).build()).execute()) {
            System.out.println("status: " + response.code());
        }
        return 0;
    }

    /** Whether the bytes begin as each root of trust does, in its one spelling. */
    private static boolean isRoot(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1).startsWith("{\"signatures\":");
    }

    private static void print(Exception failure) {
        System.out.println("no document: " + failure);
    }

    private static void print(Judgement judgement) {
        System.out.println("verdict: " + judgement.verdict().code() + " (" + judgement.decision().reason() + ")");
    }

    /** A trust manager for the certificates of a file in PEM, or for those of the system. */
    static X509TrustManager trustManager(String path) throws GeneralSecurityException, IOException {
        KeyStore store = null;
        if (path != null) {
            store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            try (InputStream file = new FileInputStream(path)) {
                for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                    store.setCertificateEntry("trusted-" + store.size(), certificate);
                }
            }
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return (X509TrustManager) Arrays.stream(factory.getTrustManagers())
                .filter(X509TrustManager.class::isInstance)
                .findFirst()
                .orElseThrow(() -> new GeneralSecurityException("no trust manager for X.509"));
    }
}
