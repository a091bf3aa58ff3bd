package com.pinledger.client;

import java.util.List;
import javax.net.ssl.SSLPeerUnverifiedException;

/** Says that a connection was refused because its validated chain has none of the pins. OkHttp does not retry such a call. */
public final class PinRefusedException extends SSLPeerUnverifiedException {
    private static final long serialVersionUID = 1;

    private final transient Judgement judgement;

    PinRefusedException(Judgement judgement) {
        super(message(judgement));
        this.judgement = judgement;
    }

    private static String message(Judgement judgement) {
        if (judgement.verdict() == Verdict.REFUSED_WITHOUT_DOCUMENT) {
            return "there is no document, and this app blocks " + judgement.host() + " without one";
        }
        if (judgement.document() == null || judgement.decision().pins().isEmpty()) {
            return "no certificate of " + judgement.host() + " has one of the app's own pins";
        }
        return "no certificate of " + judgement.host() + " has one of the pins: it serves " + list(judgement.chain())
                + ", and document " + judgement.document().payload().version() + " pins " + list(judgement.decision().pins());
    }

    private static String list(List<String> pins) {
        return pins.isEmpty() ? "none" : String.join(", ", pins);
    }

    public Judgement judgement() {
        return judgement;
    }
}
