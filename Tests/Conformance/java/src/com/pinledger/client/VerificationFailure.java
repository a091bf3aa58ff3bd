package com.pinledger.client;

/** Says which rule refused a document. The client keeps the document that it holds. */
public final class VerificationFailure extends Exception {
    private static final long serialVersionUID = 1;

    /** The reasons, in the order of the rules. */
    public enum Reason {
        TOO_LARGE("too_large"),
        MALFORMED_TOKEN("malformed_token"),
        UNSUPPORTED_HEADER("unsupported_header"),
        UNKNOWN_KEY("unknown_key"),
        WRONG_SIGNATURE("wrong_signature"),
        MALFORMED_PAYLOAD("malformed_payload"),
        OTHER_APP("other_app"),
        OTHER_ISSUER("other_issuer"),
        OLDER_VERSION("older_version"),
        CONTRADICTION("contradiction"),
        ISSUED_EARLIER("issued_earlier"),
        ISSUED_AHEAD("issued_ahead"),
        ROOT_EXPIRED("root_expired");

        private final String code;

        Reason(String code) {
            this.code = code;
        }

        /** The stable code under which a client reports the failure. */
        public String code() {
            return code;
        }
    }

    private final Reason reason;

    VerificationFailure(Reason reason) {
        super(reason.code());
        this.reason = reason;
    }

    VerificationFailure(Reason reason, Exception cause) {
        super(reason.code() + ": " + cause.getMessage(), cause);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
