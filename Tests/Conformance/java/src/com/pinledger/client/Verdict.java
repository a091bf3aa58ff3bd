package com.pinledger.client;

/** What becomes of a connection. */
public enum Verdict {
    /** A certificate of the validated chain has one of the pins. */
    MATCHED("matched"),
    /** None has one of them, and the connection goes on. */
    MISMATCHED("mismatched"),
    /** None has one of them, and the connection has to end. */
    REFUSED("refused"),
    /** No pins were compared. */
    UNPINNED("unpinned"),
    /** The pins have ended, and the app blocks the host then. */
    REFUSED_EXPIRED("refused_expired"),
    /** There is neither a document nor a pin built in, and the app blocks hosts then. */
    REFUSED_WITHOUT_DOCUMENT("refused_without_document"),
    /** The platform refused the chain, so that there is none to compare. */
    INVALID_CHAIN("invalid_chain");

    private final String code;

    Verdict(String code) {
        this.code = code;
    }

    /** Whether the connection has to end. */
    public boolean isRefusal() {
        return this == REFUSED || this == REFUSED_EXPIRED || this == REFUSED_WITHOUT_DOCUMENT || this == INVALID_CHAIN;
    }

    public String code() {
        return code;
    }

    static Verdict of(String code) throws MalformedException {
        for (Verdict verdict : values()) {
            if (verdict.code.equals(code)) {
                return verdict;
            }
        }
        throw new MalformedException("an unknown verdict");
    }
}
