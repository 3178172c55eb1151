package compat;

import com.alicloud.openservices.tablestore.SyncClient;
import com.alicloud.openservices.tablestore.TableStoreException;
import java.util.ArrayList;
import java.util.List;

/** The list of named cases and the loop that runs them. */
final class Suite {
    interface Body {
        void run(T t) throws Exception;
    }

    private record Case(String name, SyncClient client, Body body) {}

    private final List<Case> cases;
    private final SyncClient client;
    private final String prefix;
    int passed;
    int failed;

    Suite(SyncClient client) {
        this(client, "", new ArrayList<>());
    }

    private Suite(SyncClient client, String prefix, List<Case> cases) {
        this.client = client;
        this.prefix = prefix;
        this.cases = cases;
    }

    /** The same suite through another client: its cases run under a prefixed name. */
    Suite through(String name, SyncClient other) {
        return new Suite(other, name + " ", cases);
    }

    void add(String name, Body body) {
        cases.add(new Case(prefix + name, client, body));
    }

    void run(String filter) {
        for (Case c : cases) {
            if (!c.name.contains(filter)) {
                continue;
            }
            String report = runOne(c);
            if (report == null) {
                passed++;
                System.out.println("ok   " + c.name);
            } else {
                failed++;
                System.out.println("FAIL " + c.name + "\n  " + report);
            }
        }
    }

    private String runOne(Case c) {
        T t = new T(c.client, c.name);
        try {
            c.body.run(t);
            return null;
        } catch (Failure failure) {
            return failure.getMessage();
        } catch (TableStoreException e) {
            return "expected success\n  actual   " + e.getHttpStatus() + " " + e.getErrorCode() + " " + T.show(e.getMessage()) + at(e);
        } catch (Throwable e) {
            return "expected success\n  actual   " + e + (e.getCause() == null ? "" : " because of " + e.getCause()) + at(e);
        } finally {
            t.dropTables();
        }
    }

    /** The line of the case, and where in the SDK it came from. */
    private static String at(Throwable e) {
        StringBuilder out = new StringBuilder();
        StackTraceElement[] frames = e.getStackTrace();
        if (frames.length > 0) {
            out.append("\n    at ").append(frames[0]);
        }
        for (StackTraceElement frame : frames) {
            if (frame.getClassName().startsWith("compat.") && frame.getFileName() != null && frame.getFileName().endsWith("Cases.java")) {
                return out.append("\n    at ").append(frame).toString();
            }
        }
        return out.toString();
    }
}
