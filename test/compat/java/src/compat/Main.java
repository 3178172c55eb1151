package compat;

import com.alicloud.openservices.tablestore.ClientConfiguration;
import com.alicloud.openservices.tablestore.SyncClient;
import com.alicloud.openservices.tablestore.TableStoreException;
import com.alicloud.openservices.tablestore.core.auth.DefaultCredentialProvider;
import com.alicloud.openservices.tablestore.core.auth.DefaultCredentials;
import com.alicloud.openservices.tablestore.core.auth.V4Credentials;
import com.alicloud.openservices.tablestore.model.DefaultRetryStrategy;
import com.alicloud.openservices.tablestore.model.NoRetryStrategy;
import java.util.concurrent.TimeUnit;

/** Reads where the server is, lists the cases and runs them. */
public final class Main {
    static final String ENDPOINT = env("WIDEROW_ENDPOINT");
    static final String INSTANCE = env("WIDEROW_INSTANCE");
    static final String KEY_ID = env("WIDEROW_ACCESS_KEY_ID");
    static final String SECRET = env("WIDEROW_ACCESS_KEY_SECRET");
    static final String REGION = "cn-hangzhou";

    public static void main(String[] args) {
        String unreachable = reach();
        if (unreachable != null) {
            System.out.println("FAIL cannot reach the server at " + ENDPOINT + "\n  " + unreachable);
            finish(0, 1);
        }
        Suite suite = new Suite(client(config()));
        tier1(suite);
        tier1(suite.through("v4", v4Client(config(), SECRET)));
        tier1(suite.through("deflate", client(compressed())));
        tier1(suite.through("v4 deflate", v4Client(compressed(), SECRET)));
        tier2(suite);
        suite.run(args.length > 0 ? args[0] : "");
        T.dropShared(client(config()));
        finish(suite.passed, suite.failed);
    }

    private static void tier1(Suite s) {
        TableCases.add(s);
        ValueCases.add(s);
        RowCases.add(s);
        ConditionCases.add(s);
        BatchCases.add(s);
        RangeCases.add(s);
        CapacityCases.add(s);
        ErrorCases.add(s);
    }

    private static void tier2(Suite s) {
        VersionCases.add(s);
        FilterCases.add(s);
        ColumnCases.add(s);
        CounterCases.add(s);
        AutoIncrementCases.add(s);
        RuleCases.add(s);
        CreateCases.add(s);
        OptionCases.add(s);
        NameCases.add(s);
        LimitCases.add(s);
        SplitCases.add(s);
        BulkCases.add(s);
    }

    /** Retries little: a healthy local server never needs it, and a sick one should fail fast. */
    static ClientConfiguration config() {
        ClientConfiguration config = new ClientConfiguration();
        config.setRetryStrategy(new DefaultRetryStrategy(2, TimeUnit.SECONDS));
        config.setConnectionTimeoutInMillisecond(2000);
        config.setSocketTimeoutInMillisecond(20000);
        config.setEnableResponseContentMD5Checking(true);
        return config;
    }

    private static ClientConfiguration compressed() {
        ClientConfiguration config = config();
        config.setEnableRequestCompression(true);
        config.setEnableResponseCompression(true);
        return config;
    }

    static SyncClient client(ClientConfiguration config) {
        return new SyncClient(ENDPOINT, KEY_ID, SECRET, INSTANCE, config);
    }

    static SyncClient v4Client(ClientConfiguration config, String secret) {
        V4Credentials credentials = V4Credentials.createByServiceCredentials(new DefaultCredentials(KEY_ID, secret), REGION);
        return new SyncClient(ENDPOINT, new DefaultCredentialProvider(credentials), INSTANCE, config, null);
    }

    /** Tells a dead endpoint from a server that answers, whatever it answers. */
    private static String reach() {
        ClientConfiguration config = config();
        config.setRetryStrategy(new NoRetryStrategy());
        SyncClient client = client(config);
        try {
            client.listTable();
            return null;
        } catch (TableStoreException answer) {
            return null;
        } catch (RuntimeException e) {
            return e.toString();
        } finally {
            client.shutdown();
        }
    }

    private static String env(String name) {
        String value = System.getenv(name);
        if (value == null || value.isEmpty()) {
            System.out.println("FAIL " + name + " is not set");
            finish(0, 1);
        }
        return value;
    }

    private static void finish(int passed, int failed) {
        System.out.printf("compat-java: %d passed, %d failed, 0 skipped%n", passed, failed);
        System.out.flush();
        // The SDK's threads would keep the process; halting also skips their farewell.
        Runtime.getRuntime().halt(failed > 0 ? 1 : 0);
    }
}
