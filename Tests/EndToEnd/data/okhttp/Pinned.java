import java.io.FileInputStream;
import java.net.InetAddress;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Collections;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.CertificatePinner;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/**
 * An app with OkHttp: one request to a host that is on this machine. Arguments: the host's name, its port, a file with the
 * certificates that are trusted, and then patterns and pins in turn.
 *
 * Prints the status, or what OkHttp's pinner says; ends with another exit status than 0 for everything else.
 */
final class Pinned {
    public static void main(String[] arguments) throws Exception {
        String host = arguments[0];
        int port = Integer.parseInt(arguments[1]);
        CertificatePinner.Builder pins = new CertificatePinner.Builder();
        for (int place = 3; place < arguments.length; place += 2) {
            pins.add(arguments[place], arguments[place + 1]);
        }
        X509TrustManager trusted = trust(arguments[2]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {trusted}, null);
        OkHttpClient client = new OkHttpClient.Builder()
            .dns(name -> Collections.singletonList(InetAddress.getByName("127.0.0.1")))
            .sslSocketFactory(context.getSocketFactory(), trusted)
            .certificatePinner(pins.build())
            .retryOnConnectionFailure(false)
            .build();
        Request request = new Request.Builder().url("https://" + host + ":" + port + "/").build();
        try (Response response = client.newCall(request).execute()) {
            System.out.println(response.code());
        } catch (SSLPeerUnverifiedException refused) {
            System.out.println(refused.getMessage());
        }
        System.exit(0);
    }

    private static X509TrustManager trust(String file) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        int number = 0;
        try (FileInputStream stream = new FileInputStream(file)) {
            for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(stream)) {
                store.setCertificateEntry("trusted " + number++, certificate);
            }
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return (X509TrustManager) factory.getTrustManagers()[0];
    }
}
