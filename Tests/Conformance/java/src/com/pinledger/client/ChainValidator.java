package com.pinledger.client;

import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;

/** Finds the validated chain among the certificates that a server presents. */
public interface ChainValidator {
    /**
     * The certificates from the server's own to the trust anchor, each of which vouches for the one before it.
     *
     * @param presented What the server sent: its own certificate first, then any others, in any order, related or not.
     * @param host The name that the app connects to.
     */
    List<X509Certificate> validated(List<X509Certificate> presented, String host) throws CertificateException;
}
