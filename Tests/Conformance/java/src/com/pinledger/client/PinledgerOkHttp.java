package com.pinledger.client;

import java.io.IOException;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Consumer;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import okhttp3.Connection;
import okhttp3.ConnectionPool;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/**
 * Pins the connections of an {@link OkHttpClient} by the document that holds at that moment.
 *
 * <p>OkHttp's own {@code CertificatePinner} cannot be changed once a client is built. Three parts take its place:
 *
 * <ul>
 *   <li>A hostname verifier judges each new connection after its handshake, resumed sessions too, and before it is used. It
 *       is also called for WebSockets, where OkHttp calls no network interceptors.
 *   <li>A network interceptor judges the connection of each request, before the request is written. So a new document also
 *       holds for connections that are open in the pool.
 *   <li>An interceptor around the call fetches a document where that is due, and says by {@link PinRefusedException} what OkHttp
 *       reports as a wrong host name.
 * </ul>
 *
 * <p>OkHttp gives these parts the chain that the server presents, to which an attacker can append any certificate. Pins are
 * compared with the chain that {@link ChainValidator} validates.
 */
public final class PinledgerOkHttp {
    private final PinPolicy policy;
    private final ChainValidator validator;
    private final DocumentFetcher fetcher;
    private final Consumer<Judgement> observer;
    private final HostnameVerifier ordinaryVerifier;
    private final ConnectionPool pool;
    private final ThreadLocal<CallState> calls = new ThreadLocal<>();
    private final Map<Connection, ConnectionState> connections = Collections.synchronizedMap(new WeakHashMap<>());
    private volatile boolean fetchBeforeRetry;

    private PinledgerOkHttp(
            OkHttpClient client, PinPolicy policy, ChainValidator validator, DocumentFetcher fetcher,
            Consumer<Judgement> observer) {
        this.policy = policy;
        this.validator = validator;
        this.fetcher = fetcher;
        this.observer = observer;
        this.ordinaryVerifier = client.hostnameVerifier();
        this.pool = client.connectionPool();
    }

    /**
     * A client that connects as the given one, and pins.
     *
     * @param client A client whose trust manager validates chains, and whose other interceptors are already there.
     * @param validator Validates chains by the same trust anchors as the client's trust manager.
     * @param fetcher Fetches documents where that is due before a connection; null if the app does so by itself.
     * @param observer Learns of each connection, and again if a new document judges it; it may be called by several threads. What it
     *     throws is logged, and changes nothing for the connection.
     */
    public static OkHttpClient pinned(
            OkHttpClient client, PinPolicy policy, ChainValidator validator, DocumentFetcher fetcher,
            Consumer<Judgement> observer) {
        PinledgerOkHttp pinning = new PinledgerOkHttp(client, policy, validator, fetcher, observer);
        return client.newBuilder()
                .hostnameVerifier(pinning::verifyConnection)
                .addInterceptor(pinning::interceptCall)
                .addNetworkInterceptor(pinning::interceptRequest)
                .build();
    }

    private Response interceptCall(Interceptor.Chain chain) throws IOException {
        Request request = chain.request();
        if (request.isHttps() && fetcher != null && (fetchBeforeRetry || policy.wantsFetch(request.url().host()))) {
            if (fetcher.fetchOccasionally()) {
                fetchBeforeRetry = false;
            }
        }
        boolean webSocket = "websocket".equalsIgnoreCase(request.header("Upgrade"));
        if (webSocket) {
            // A WebSocket on a connection from the pool would meet no check, because no handshake and no network interceptor
            // follow.
            pool.evictAll();
        }
        CallState outer = calls.get();
        CallState call = new CallState(webSocket);
        calls.set(call);
        try {
            return chain.proceed(request);
        } catch (SSLPeerUnverifiedException exception) {
            if (call.refusal == null || exception instanceof PinRefusedException) {
                throw exception;
            }
            call.refusal.initCause(exception);
            throw call.refusal;
        } finally {
            calls.set(outer);
        }
    }

    private boolean verifyConnection(String host, SSLSession session) {
        if (!ordinaryVerifier.verify(host, session)) {
            return false;
        }
        Judgement judgement = policy.judge(host, () -> validatedPins(presented(session), host));
        CallState call = calls.get();
        boolean refused = judgement.verdict().isRefusal();
        if (refused) {
            fetchBeforeRetry = true;
            if (call != null) {
                call.refusal = new PinRefusedException(judgement);
            }
        }
        // The network interceptor tells of all other connections.
        if (refused || call == null || call.webSocket) {
            Listeners.tell(observer, judgement);
        }
        return !refused;
    }

    private Response interceptRequest(Interceptor.Chain chain) throws IOException {
        Connection connection = chain.connection();
        if (connection != null && connection.handshake() != null) {
            requirePins(connection, chain.request().url().host());
        }
        return chain.proceed(chain.request());
    }

    private void requirePins(Connection connection, String host) throws IOException {
        ConnectionState state = connections.computeIfAbsent(connection, key -> new ConnectionState());
        Judgement judgement;
        boolean isNews;
        synchronized (state) {
            judgement = policy.judge(host, () -> {
                if (!host.equals(state.host)) {
                    state.pins = validatedPins(connection.handshake().peerCertificates(), host);
                    state.host = host;
                }
                return state.pins;
            });
            isNews = !state.isTold || state.toldDocument != judgement.document() || state.toldVerdict != judgement.verdict();
            state.isTold = true;
            state.toldDocument = judgement.document();
            state.toldVerdict = judgement.verdict();
        }
        if (isNews) {
            Listeners.tell(observer, judgement);
        }
        if (judgement.verdict().isRefusal()) {
            fetchBeforeRetry = true;
            // OkHttp would keep an HTTP/2 connection in the pool.
            connection.socket().close();
            throw new PinRefusedException(judgement);
        }
    }

    /** The pins of the validated chain; none if it cannot be validated, so that no pin matches. */
    private List<String> validatedPins(List<Certificate> presented, String host) {
        List<X509Certificate> certificates = new ArrayList<>();
        for (Certificate certificate : presented) {
            certificates.add((X509Certificate) certificate);
        }
        try {
            return SpkiPin.of(validator.validated(certificates, host));
        } catch (CertificateException exception) {
            return Collections.emptyList();
        }
    }

    private static List<Certificate> presented(SSLSession session) {
        try {
            return Arrays.asList(session.getPeerCertificates());
        } catch (SSLPeerUnverifiedException exception) {
            return Collections.emptyList();
        }
    }

    /** What the parts know of a call. OkHttp runs a call and its handshakes on one thread. */
    private static final class CallState {
        final boolean webSocket;
        PinRefusedException refusal;

        CallState(boolean webSocket) {
            this.webSocket = webSocket;
        }
    }

    /** What is known of a connection for as long as it is open. */
    private static final class ConnectionState {
        /** The host for which the chain was validated; null if it was not. */
        String host;
        List<String> pins;
        boolean isTold;
        SignedDocument toldDocument;
        Verdict toldVerdict;
    }
}
