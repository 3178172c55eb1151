import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

/** DynamoLoad PORT CONNECTIONS: makes the table and serves commands (Load). */
final class DynamoLoad {
    public static void main(String[] args) throws Exception {
        int connections = Integer.parseInt(args[1]);
        DynamoDbAsyncClient client = DynamoDbAsyncClient.builder()
                .endpointOverride(URI.create("http://127.0.0.1:" + args[0])).region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("bench", "bench")))
                .httpClientBuilder(NettyNioAsyncHttpClient.builder().maxConcurrency(connections)).build();
        client.createTable(t -> t.tableName("bench").billingMode(BillingMode.PAY_PER_REQUEST)
                .attributeDefinitions(a -> a.attributeName("id").attributeType(ScalarAttributeType.S))
                .keySchema(k -> k.attributeName("id").keyType(KeyType.HASH))).get();
        Load.serve(new Load.Peer() {
            @Override
            public CompletionStage<?> read(String key) {
                return client.getItem(g -> g.tableName("bench").consistentRead(true)
                        .key(Map.of("id", AttributeValue.fromS(key)))).thenAccept(answer -> {
                            if (!answer.hasItem()) throw new IllegalStateException("a record is missing");
                        });
            }

            @Override
            public CompletionStage<?> write(String key, String[] values) {
                Map<String, AttributeValue> item = new HashMap<>();
                item.put("id", AttributeValue.fromS(key));
                for (int i = 0; i < values.length; i++) item.put("field" + i, AttributeValue.fromS(values[i]));
                return client.putItem(p -> p.tableName("bench").item(item));
            }
        }, connections);
    }
}
