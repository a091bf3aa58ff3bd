package com.pinledger.client;

import java.security.GeneralSecurityException;
import java.security.cert.CertPathBuilder;
import java.security.cert.CertStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CollectionCertStoreParameters;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.PKIXCertPathBuilderResult;
import java.security.cert.TrustAnchor;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.net.ssl.X509TrustManager;

/**
 * Finds the validated chain with the path builder of the JDK.
 *
 * <p>The JDK's trust managers validate a chain without saying which one. This class builds a path to one of the same trust
 * anchors. On Android use {@code X509TrustManagerExtensions} instead, which returns the chain and follows the app's network
 * security configuration.
 */
public final class PkixChainValidator implements ChainValidator {
    private static final int CERTIFICATE_LIMIT = 20;
    private static final int INTERMEDIATE_LIMIT = 10;

    private final Set<TrustAnchor> anchors = new HashSet<>();
    private final Set<X509Certificate> anchorCertificates = new HashSet<>();

    public PkixChainValidator(X509TrustManager trustManager) {
        for (X509Certificate certificate : trustManager.getAcceptedIssuers()) {
            anchors.add(new TrustAnchor(certificate, null));
            anchorCertificates.add(certificate);
        }
    }

    @Override
    public List<X509Certificate> validated(List<X509Certificate> presented, String host) throws CertificateException {
        // A path builder may try many paths, so the server must not choose how many certificates it looks at.
        if (presented.isEmpty() || presented.size() > CERTIFICATE_LIMIT) {
            throw new CertificateException("no chain of a possible length");
        }
        X509Certificate own = presented.get(0);
        if (anchorCertificates.contains(own)) {
            return Collections.singletonList(own);
        }
        try {
            X509CertSelector target = new X509CertSelector();
            target.setCertificate(own);
            PKIXBuilderParameters parameters = new PKIXBuilderParameters(anchors, target);
            parameters.setRevocationEnabled(false);
            parameters.setMaxPathLength(INTERMEDIATE_LIMIT);
            parameters.addCertStore(CertStore.getInstance("Collection", new CollectionCertStoreParameters(presented)));
            PKIXCertPathBuilderResult result =
                    (PKIXCertPathBuilderResult) CertPathBuilder.getInstance("PKIX").build(parameters);
            List<X509Certificate> chain = new ArrayList<>();
            for (Certificate certificate : result.getCertPath().getCertificates()) {
                chain.add((X509Certificate) certificate);
            }
            // The path ends before its anchor, which counts as a part of the validated chain.
            chain.add(result.getTrustAnchor().getTrustedCert());
            return chain;
        } catch (GeneralSecurityException exception) {
            throw new CertificateException("no path to a trust anchor", exception);
        }
    }
}
