package com.pinledger.client;

/** Says which rule refused a root of trust. The client keeps the one that it has. */
public final class RootFailure extends Exception {
    private static final long serialVersionUID = 1;

    /** The reasons, in the order of the rules. */
    public enum Reason {
        TOO_LARGE("too_large"),
        MALFORMED_ROOT("malformed_root"),
        OTHER_VERSION("other_version"),
        MISSING_SIGNATURES("missing_signatures");

        private final String code;

        Reason(String code) {
            this.code = code;
        }

        /** The stable code under which a client logs the failure. */
        public String code() {
            return code;
        }
    }

    private final Reason reason;

    RootFailure(Reason reason) {
        super(reason.code());
        this.reason = reason;
    }

    RootFailure(Reason reason, Exception cause) {
        super(reason.code() + ": " + cause.getMessage(), cause);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
