package compat;

import com.alicloud.openservices.tablestore.SyncClient;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/** A case, for each of which JUnit makes an object: `t` is what it works with. */
abstract class Case {
    T t;

    Server server() {
        return Server.PLAIN;
    }

    @BeforeEach
    void begin(TestInfo info) {
        t = new T(server().client(), getClass().getSimpleName() + " " + server() + " " + info.getDisplayName());
    }

    @AfterEach
    void dropTables() {
        t.dropTables();
    }

    @AfterAll
    static void dropShared() {
        T.dropShared(Server.PLAIN.client());
    }
}
