package com.pinledger.client;

import javax.net.ssl.SSLPeerUnverifiedException;

/** Says that a connection was refused because its validated chain has none of the pins. OkHttp does not retry such a call. */
public final class PinRefusedException extends SSLPeerUnverifiedException {
    private static final long serialVersionUID = 1;

    private final transient Judgement judgement;

    PinRefusedException(Judgement judgement) {
        super("the connection to " + judgement.host() + " has none of the pins");
        this.judgement = judgement;
    }

    public Judgement judgement() {
        return judgement;
    }
}
