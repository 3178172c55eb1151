package compat;

import com.alicloud.openservices.tablestore.ClientConfiguration;
import com.alicloud.openservices.tablestore.SyncClient;
import com.alicloud.openservices.tablestore.core.auth.DefaultCredentialProvider;
import com.alicloud.openservices.tablestore.core.auth.DefaultCredentials;
import com.alicloud.openservices.tablestore.core.auth.V4Credentials;
import com.alicloud.openservices.tablestore.model.DefaultRetryStrategy;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** The server under test, as the environment names it, and clients of each kind. */
enum Server {
    PLAIN, V4, DEFLATE, V4_DEFLATE;

    static final String ENDPOINT = env("WIDEROW_ENDPOINT");
    static final String INSTANCE = env("WIDEROW_INSTANCE");
    static final String KEY_ID = env("WIDEROW_ACCESS_KEY_ID");
    static final String SECRET = env("WIDEROW_ACCESS_KEY_SECRET");
    private static final String REGION = "cn-hangzhou";

    private SyncClient client;

    /** The one client of this kind; it stays open. */
    synchronized SyncClient client() {
        if (client == null) {
            ClientConfiguration config = config();
            config.setEnableRequestCompression(this == DEFLATE || this == V4_DEFLATE);
            config.setEnableResponseCompression(this == DEFLATE || this == V4_DEFLATE);
            client = this == V4 || this == V4_DEFLATE ? v4Client(config, SECRET) : new SyncClient(ENDPOINT, KEY_ID, SECRET, INSTANCE, config);
        }
        return client;
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

    static SyncClient v4Client(ClientConfiguration config, String secret) {
        V4Credentials credentials = V4Credentials.createByServiceCredentials(new DefaultCredentials(KEY_ID, secret), REGION);
        return new SyncClient(ENDPOINT, new DefaultCredentialProvider(credentials), INSTANCE, config, null);
    }

    private static String env(String name) {
        return Objects.requireNonNull(System.getenv(name), name + " is not set");
    }
}
