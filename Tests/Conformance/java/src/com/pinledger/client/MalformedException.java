package com.pinledger.client;

/** Says that a text or a value does not have the form that it must have. */
public final class MalformedException extends Exception {
    private static final long serialVersionUID = 1;

    public MalformedException(String message) {
        super(message);
    }
}
