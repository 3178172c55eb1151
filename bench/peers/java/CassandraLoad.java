import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.AsyncResultSet;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** CassandraLoad PORT CONNECTIONS: makes the table and serves commands (Load). */
final class CassandraLoad {
    public static void main(String[] args) throws Exception {
        // A machine that is busy, or a server that was stopped a moment ago, is no failure.
        Duration patience = Duration.ofSeconds(60);
        DriverConfigLoader config = DriverConfigLoader.programmaticBuilder()
                .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, patience)
                .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, patience)
                .withDuration(DefaultDriverOption.CONTROL_CONNECTION_TIMEOUT, patience)
                .withDuration(DefaultDriverOption.METADATA_SCHEMA_REQUEST_TIMEOUT, patience)
                .withDuration(DefaultDriverOption.HEARTBEAT_TIMEOUT, patience).build();
        CqlSession session = CqlSession.builder().withConfigLoader(config)
                .addContactPoint(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])))
                .withLocalDatacenter("datacenter1").build();
        StringBuilder names = new StringBuilder(), marks = new StringBuilder(), types = new StringBuilder();
        for (int i = 0; i < Load.COLUMNS; i++) {
            names.append(", field").append(i);
            types.append(", field").append(i).append(" text");
            marks.append(", ?");
        }
        session.execute("CREATE KEYSPACE IF NOT EXISTS bench WITH replication = "
                + "{'class': 'SimpleStrategy', 'replication_factor': 1}");
        session.execute("CREATE TABLE IF NOT EXISTS bench.bench (id text PRIMARY KEY" + types + ")");
        PreparedStatement read = session.prepare("SELECT * FROM bench.bench WHERE id = ?");
        PreparedStatement write =
                session.prepare("INSERT INTO bench.bench (id" + names + ") VALUES (?" + marks + ")");
        Load.serve(new Load.Peer() {
            @Override
            public CompletionStage<?> read(String key) {
                return session.executeAsync(read.bind(key)).thenAccept(CassandraLoad::check);
            }

            @Override
            public CompletionStage<?> write(String key, String[] values) {
                Object[] all = new Object[1 + values.length];
                all[0] = key;
                System.arraycopy(values, 0, all, 1, values.length);
                return session.executeAsync(write.bind(all));
            }
        }, Integer.parseInt(args[1]));
    }

    private static void check(AsyncResultSet rows) {
        if (rows.one() == null) throw new IllegalStateException("a record is missing");
    }
}
