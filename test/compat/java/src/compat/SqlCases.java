package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.SyncClient;
import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.sql.*;
import java.lang.reflect.Field;
import java.sql.*;
import java.util.Properties;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** SQLQuery by the SDK, and by Tablestore's JDBC driver. */
final class SqlCases extends Case {
    private String table() throws Exception {
        String name = t.create(createRequest(uniqueName(), 1, key("id", PrimaryKeyType.STRING), key("n", PrimaryKeyType.INTEGER)));
        for (int i = 0; i < 4; i++)
            t.put(name, pk("id", "a", "n", i), c("age", i % 2), c("grade", 4.5 + i), c("word", "w" + i), c("ok", i > 1));
        sql("create table " + name + " (id varchar(1024), n bigint, age bigint, grade double, word mediumtext, ok bool, primary key(id, n))");
        return name;
    }

    private SQLQueryResponse sql(String query) {
        return server().client().sqlQuery(new SQLQueryRequest(query));
    }

    @Test @DisplayName("sql: select, describe and drop by the SDK")
    void selectDescribeAndDropByTheSdk() throws Exception {
        String name = table();
        SQLResultSet rows = sql("select age, avg(grade), count(*), max(word) from " + name + " group by age order by age").getSQLResultSet();
        equal("rows", rows.rowCount(), 2L);
        SQLRow row = rows.next();
        equal("age", row.getLong(0), 0L);
        equal("avg", row.getDouble(1), 5.5);
        equal("count", row.getLong("count(*)"), 2L);
        equal("max", row.getString(3), "w2");
        equal("none", sql("select * from " + name + " where n > 9").getSQLResultSet().rowCount(), 0L);
        equal("type", sql("describe " + name).getSQLStatementType(), SQLStatementType.SQL_DESCRIBE_TABLE);
        equal("type", sql("drop mapping table " + name).getSQLStatementType(), SQLStatementType.SQL_DROP_TABLE);
        invalid("Unknown column 'word' in 'field list'", () -> sql("select word from " + name));
    }

    /** The driver leaves the port out of its URL, so it is given a client that knows it. */
    private static Connection connection() throws Exception {
        Properties user = new Properties();
        user.setProperty("user", Server.KEY_ID);
        user.setProperty("password", Server.SECRET);
        Class.forName("com.alicloud.openservices.tablestore.jdbc.OTSDriver");
        Connection connection = DriverManager.getConnection("jdbc:ots:" + Server.ENDPOINT + "/" + Server.INSTANCE, user);
        Field client = connection.getClass().getDeclaredField("otsClient");
        client.setAccessible(true);
        client.set(connection, new SyncClient(Server.ENDPOINT, Server.KEY_ID, Server.SECRET, Server.INSTANCE));
        return connection;
    }

    @Test @DisplayName("sql: the JDBC driver")
    void theJdbcDriver() throws Exception {
        String name = table();
        try (Connection connection = connection()) {
            PreparedStatement prepared = connection.prepareStatement("select word, grade, ok from " + name + " where id = ? and n = ?");
            prepared.setString(1, "a");
            prepared.setLong(2, 2);
            ResultSet found = prepared.executeQuery();
            check(found.next(), "a row");
            equal("row", found.getString("word") + found.getDouble(2) + found.getBoolean(3), "w26.5true");
            check(!found.next(), "one row");
            DatabaseMetaData meta = connection.getMetaData();
            StringBuilder columns = new StringBuilder();
            for (ResultSet r = meta.getColumns(Server.INSTANCE, null, name, "%"); r.next();)
                columns.append(r.getString("COLUMN_NAME")).append(' ').append(r.getInt("DATA_TYPE")).append(' ');
            equal("columns", columns.toString(), "id 12 n -5 age -5 grade 8 word -1 ok 16 ");
            StringBuilder keys = new StringBuilder();
            for (ResultSet r = meta.getPrimaryKeys(Server.INSTANCE, null, name); r.next();)
                keys.append(r.getString("COLUMN_NAME")).append(' ');
            equal("keys", keys.toString(), "id n ");
            ResultSet moments = connection.createStatement().executeQuery("select date(from_unixtime(1668585138.995)) as d");
            check(moments.next(), "a row");
            equal("date", String.valueOf(moments.getObject(1)), "2022-11-16");
        }
    }
}
