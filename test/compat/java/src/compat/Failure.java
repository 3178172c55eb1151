package compat;

/** A failed check; the message is the report. */
final class Failure extends RuntimeException {
    Failure(String message) {
        super(message);
    }
}
