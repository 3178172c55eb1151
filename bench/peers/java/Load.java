import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Asks a peer through its own client, a fixed number of requests under way at a time, with records of
 * the shape of `widerow bench` (24-byte keys, 10 columns of 100 bytes).
 *
 * Reads commands from standard input, so that the virtual machine stays warm between rounds, and answers each
 * with one line: "load RECORDS", "read RECORDS SECONDS", "write RECORDS SECONDS" with a rate (requests a
 * second), or "failed: ..." A closed input ends it.
 */
final class Load {
    static final int COLUMNS = 10, COLUMN_BYTES = 100;

    interface Peer {
        CompletionStage<?> read(String key);

        CompletionStage<?> write(String key, String[] values);
    }

    private final Peer peer;
    private final int connections;
    private final Semaphore free;
    private final AtomicLong done = new AtomicLong();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final String text;

    private Load(Peer peer, int connections) {
        this.peer = peer;
        this.connections = connections;
        free = new Semaphore(connections);
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < 65536; i++) b.append((char) ('a' + ThreadLocalRandom.current().nextInt(26)));
        text = b.toString();
    }

    static String key(long record) {
        return String.format("user%020d", record);
    }

    private String[] values() {
        String[] v = new String[COLUMNS];
        for (int i = 0; i < COLUMNS; i++) {
            int at = ThreadLocalRandom.current().nextInt(text.length() - COLUMN_BYTES);
            v[i] = text.substring(at, at + COLUMN_BYTES);
        }
        return v;
    }

    private void start(boolean writes, long record) throws InterruptedException {
        free.acquire();
        CompletionStage<?> asked = writes ? peer.write(key(record), values()) : peer.read(key(record));
        asked.whenComplete((answer, error) -> {
            if (error != null) failure.compareAndSet(null, error);
            done.incrementAndGet();
            free.release();
        });
    }

    private void settle() throws InterruptedException {
        free.acquire(connections);
        free.release(connections);
    }

    private String run(String[] words) throws InterruptedException {
        long records = Long.parseLong(words[1]), begin = System.nanoTime();
        failure.set(null);
        done.set(0);
        if (words[0].equals("load")) {
            for (long i = 0; i < records && failure.get() == null; i++) start(true, i);
        } else {
            long end = begin + (long) (Double.parseDouble(words[2]) * 1e9);
            while (System.nanoTime() < end && failure.get() == null)
                start(words[0].equals("write"), ThreadLocalRandom.current().nextLong(records));
        }
        settle();
        if (failure.get() != null) return "failed: " + failure.get();
        return String.format("%.0f", done.get() / ((System.nanoTime() - begin) / 1e9));
    }

    static void serve(Peer peer, int connections) throws Exception {
        Load load = new Load(peer, connections);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null;) System.out.println(load.run(line.trim().split(" ")));
        System.exit(0);
    }
}
