import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

/** MySQL Connector/J against the SQL port, with the properties that Lindorm's pages give: once with prepared statements of the server, once with
 * texts. Prints "# pass N". */
public class Cases {
    interface Case {
        void run(Connection db) throws Exception;
    }

    static int passed, failed;
    static final String URL = "jdbc:mysql://127.0.0.1:" + System.getenv("PORT") + "/inst?sslMode=DISABLED&allowPublicKeyRetrieval=true"
            + "&useLocalSessionState=true&rewriteBatchedStatements=true&cachePrepStmts=true&prepStmtCacheSize=100&prepStmtCacheSqlLimit=50000000"
            + "&connectionTimeZone=UTC&forceConnectionTimeZoneToSession=false";

    static void check(boolean holds, Object what) {
        if (!holds)
            throw new AssertionError(String.valueOf(what));
    }

    static void same(Object was, Object expected) {
        check(Objects.equals(was, expected), "is " + was + ", not " + expected);
    }

    static void run(String mode, String name, Connection db, Case c) {
        try {
            c.run(db);
            passed++;
        } catch (Throwable t) {
            failed++;
            System.out.println("FAILED: " + mode + ": " + name);
            t.printStackTrace(System.out);
        }
    }

    static String outcome(Connection db, String sql) {
        try (PreparedStatement s = db.prepareStatement(sql)) {
            if (!s.execute())
                return "+ " + s.getUpdateCount();
            ResultSet r = s.getResultSet();
            StringJoiner rows = new StringJoiner("|", "= ", "");
            while (r.next()) {
                StringJoiner row = new StringJoiner(",");
                for (int i = 1; i <= r.getMetaData().getColumnCount(); i++)
                    row.add(r.getString(i) == null ? "NULL" : r.getString(i));
                rows.add(row.toString());
            }
            return rows.toString();
        } catch (SQLException e) {
            return "! " + e.getErrorCode();
        }
    }

    /** statements.txt says how they stand there. */
    static void documented(Connection db) throws Exception {
        List<String> lines = java.nio.file.Files.readAllLines(java.nio.file.Path.of(System.getenv("STATEMENTS")));
        for (int i = 0; i < lines.size(); i++) {
            String sql = lines.get(i), next = i + 1 < lines.size() ? lines.get(i + 1) : "";
            if (sql.isEmpty() || "#=+!".indexOf(sql.charAt(0)) >= 0)
                continue;
            String was = outcome(db, sql);
            if (!next.isEmpty() && "=+!".indexOf(next.charAt(0)) >= 0)
                check(was.equals(next), sql + " is " + was + ", not " + next);
            else
                check(was.charAt(0) != '!', sql + " is " + was);
        }
    }

    static void types(Connection db) throws Exception {
        try (PreparedStatement s = db.prepareStatement("upsert into j (k, n, d, x, s, b, day, at, f) values (?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
            s.setString(1, "a");
            s.setLong(2, Long.MAX_VALUE);
            s.setDouble(3, -1.5);
            s.setBigDecimal(4, new BigDecimal("12.25"));
            s.setString(5, "it's \\ \"grüß\"");
            s.setBytes(6, new byte[] {0, -1, '\'', '\\'});
            s.setObject(7, java.time.LocalDate.of(2024, 2, 29));
            s.setObject(8, java.time.LocalDateTime.of(2024, 2, 29, 3, 4, 5, 678000000));
            s.setBoolean(9, true);
            same(s.executeUpdate(), 1);
        }
        try (PreparedStatement s = db.prepareStatement("select * from j where k = ? and n = ?")) {
            s.setString(1, "a");
            s.setLong(2, Long.MAX_VALUE);
            ResultSet r = s.executeQuery();
            check(r.next(), "a row");
            same(r.getLong("n"), Long.MAX_VALUE);
            same(r.getDouble("d"), -1.5);
            same(r.getBigDecimal("x"), new BigDecimal("12.25"));
            same(r.getString("s"), "it's \\ \"grüß\"");
            check(Arrays.equals(r.getBytes("b"), new byte[] {0, -1, '\'', '\\'}), "bytes");
            same(r.getObject("day", java.time.LocalDate.class), java.time.LocalDate.of(2024, 2, 29));
            same(r.getObject("at", java.time.LocalDateTime.class), java.time.LocalDateTime.of(2024, 2, 29, 3, 4, 5, 678000000));
            same(r.getBoolean("f"), true);
            same(r.getMetaData().getColumnCount(), 9);
            same(s.getMetaData().getColumnCount(), 9);
            check(!r.next(), "one row");
        }
    }

    /* What is told of a prepared statement that has not run yet. */
    static void shape(Connection db) throws Exception {
        try (PreparedStatement s = db.prepareStatement("select n, s as t, d + 1 from j where k = ?")) {
            ResultSetMetaData m = s.getMetaData();
            same(m.getColumnCount(), 3);
            same(m.getColumnLabel(2), "t");
            same(m.getColumnType(1), Types.BIGINT);
            same(m.getColumnType(2), Types.VARCHAR);
            same(m.getColumnType(3), Types.DOUBLE);
            same(m.getTableName(1), "j");
            same(s.getParameterMetaData().getParameterCount(), 1);
        }
        try (PreparedStatement s = db.prepareStatement("upsert into j (k, n, d) values (?, ?, ?)")) {
            check(s.getMetaData() == null, "no columns");
        }
    }

    static void nulls(Connection db) throws Exception {
        try (PreparedStatement s = db.prepareStatement("upsert into j (k, n, s, d) values (?, ?, ?, ?)")) {
            s.setString(1, "null");
            s.setLong(2, 1);
            s.setString(3, "x");
            s.setNull(4, Types.DOUBLE);
            same(s.executeUpdate(), 1);
        }
        ResultSet r = db.createStatement().executeQuery("select d, b from j where k = 'null'");
        check(r.next() && r.getDouble(1) == 0 && r.wasNull() && r.getBytes(2) == null, "NULL");
    }

    static void batch(Connection db) throws Exception {
        try (PreparedStatement s = db.prepareStatement("insert into j (k, n, d) values (?, ?, ?)")) {
            for (int i = 0; i < 1000; i++) {
                s.setString(1, "batch");
                s.setLong(2, i);
                s.setDouble(3, i);
                s.addBatch();
            }
            same(s.executeBatch().length, 1000);
        }
        ResultSet r = db.createStatement().executeQuery("select count(*), sum(d) from j where k = 'batch'");
        check(r.next() && r.getInt(1) == 1000 && r.getDouble(2) == 499500, "all are there");
    }

    static void stream(Connection db) throws Exception {
        try (Statement s = db.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            s.setFetchSize(Integer.MIN_VALUE);
            ResultSet r = s.executeQuery("select n from j where k = 'batch'");
            for (int i = 999; i >= 0; i--)
                check(r.next() && r.getInt(1) == i, i);
            check(!r.next(), "the end");
        }
    }

    static void faults(Connection db) throws Exception {
        Object[][] cases = {{"select * from nosuch", 1146}, {"selec", 1064}, {"select nosuch from j", 1054}, {"select * from j where d = 1", 9001}};
        for (Object[] c : cases)
            try (Statement s = db.createStatement()) {
                s.execute((String) c[0]);
                check(false, "no fault: " + c[0]);
            } catch (SQLException e) {
                same(e.getErrorCode(), c[1]);
            }
        check(db.isValid(5), "the connection goes on");
    }

    static List<String> all(ResultSet r, String column) throws SQLException {
        List<String> out = new ArrayList<>();
        while (r.next())
            out.add(r.getString(column));
        return out;
    }

    static void metadata(Connection db) throws Exception {
        DatabaseMetaData m = db.getMetaData();
        check(all(m.getCatalogs(), "TABLE_CAT").contains("inst"), "catalogs");
        check(all(m.getTables("inst", null, "j%", new String[] {"TABLE"}), "TABLE_NAME").contains("j"), "tables");
        same(all(m.getColumns("inst", null, "j", "%"), "COLUMN_NAME"), List.of("k", "n", "d", "x", "s", "b", "day", "at", "f"));
        ResultSet c = m.getColumns("inst", null, "j", "n");
        check(c.next() && c.getInt("DATA_TYPE") == Types.BIGINT && c.getString("IS_NULLABLE").equals("NO"), "a column's type");
        same(new HashSet<>(all(m.getPrimaryKeys("inst", null, "j"), "COLUMN_NAME")), Set.of("k", "n"));
        same(new HashSet<>(all(m.getIndexInfo("inst", null, "j", false, true), "INDEX_NAME")), Set.of("PRIMARY", "j_s"));
    }

    static void transactions(Connection db) throws Exception {
        db.setAutoCommit(false);
        db.createStatement().executeUpdate("insert into j (k, n, s) values ('tx', 1, 'x')");
        db.commit();
        db.rollback();
        outcome(db, "create table jt (k bigint, v bigint, primary key (k)) with (transactions = 'true')");
        outcome(db, "insert into jt (k, v) values (1, 1)");
        db.rollback();
        same(outcome(db, "select v from jt where k = 1"), "= ");
        outcome(db, "insert into jt (k, v) values (1, 2)");
        db.setAutoCommit(true);
        same(outcome(db, "select v from jt where k = 1"), "= 2");
        outcome(db, "drop table jt");
    }

    /* The driver sends KILL QUERY by a connection of its own. */
    static void timeout(Connection db) throws Exception {
        String inner = "(select count(*) from j %s where %s.k = 'batch' and %s.d <> %s.d %s)";
        String b = String.format(inner, "b", "b", "b", "a", "and " + String.format(inner, "c", "c", "c", "b", "") + " > 0");
        try (Statement s = db.createStatement()) {
            s.setQueryTimeout(1);
            s.executeQuery("select sum(" + b + ") from j a where k = 'batch'");
            check(false, "it ended by itself");
        } catch (SQLTimeoutException e) {
            check(db.isValid(5), "the connection goes on");
        }
    }

    public static void main(String[] args) throws Exception {
        try (Connection db = DriverManager.getConnection(URL, "key1", "secret1"); Statement s = db.createStatement()) {
            s.execute("create table if not exists j (k varchar, n bigint, d double, x decimal(10,2), s varchar, b varbinary, day date, at timestamp, "
                    + "f boolean, primary key (k, n desc), index j_s (s))");
        }
        for (String mode : new String[] {"prepared", "text"})
            try (Connection db = DriverManager.getConnection(URL + "&useServerPrepStmts=" + mode.equals("prepared"), "key1", "secret1")) {
                run(mode, "types", db, Cases::types);
                run(mode, "columns before it runs", db, Cases::shape);
                run(mode, "NULL", db, Cases::nulls);
                run(mode, "documented statements", db, Cases::documented);
                run(mode, "batches", db, Cases::batch);
                run(mode, "streams", db, Cases::stream);
                run(mode, "faults", db, Cases::faults);
                run(mode, "metadata", db, Cases::metadata);
                run(mode, "transactions", db, Cases::transactions);
                run(mode, "time-outs", db, Cases::timeout);
            }
        System.out.println("# pass " + passed);
        System.exit(failed == 0 ? 0 : 1);
    }
}
