import com.alicloud.openservices.tablestore.TunnelClient;
import com.alicloud.openservices.tablestore.model.RecordColumn;
import com.alicloud.openservices.tablestore.model.StreamRecord;
import com.alicloud.openservices.tablestore.tunnel.worker.IChannelProcessor;
import com.alicloud.openservices.tablestore.tunnel.worker.ProcessRecordsInput;
import com.alicloud.openservices.tablestore.tunnel.worker.TunnelWorker;
import com.alicloud.openservices.tablestore.tunnel.worker.TunnelWorkerConfig;
import java.io.PrintStream;

/** The Java SDK's worker, in a process that can be killed: prints of each change its channel, key, column v and time. */
final class Worker {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        TunnelClient tunnels = new TunnelClient(System.getenv("WIDEROW_ENDPOINT"), System.getenv("WIDEROW_ACCESS_KEY_ID"),
            System.getenv("WIDEROW_ACCESS_KEY_SECRET"), System.getenv("WIDEROW_INSTANCE"));
        TunnelWorkerConfig config = new TunnelWorkerConfig(new IChannelProcessor() {
            @Override
            public void process(ProcessRecordsInput input) {
                StringBuilder lines = new StringBuilder();
                for (StreamRecord record : input.getRecords()) {
                    for (RecordColumn column : record.getColumns()) {
                        if (column.getColumn().getName().equals("v")) {
                            lines.append(input.getChannelId()).append(' ')
                                .append(record.getPrimaryKey().getPrimaryKeyColumn(0).getValue().asLong()).append(' ')
                                .append(column.getColumn().getValue().asLong()).append(' ')
                                .append(record.getSequenceInfo().getTimestamp()).append('\n');
                        }
                    }
                }
                out.print(lines);
                out.flush();
            }

            @Override
            public void shutdown() {}
        });
        config.setHeartbeatIntervalInSec(5);
        config.setHeartbeatTimeoutInSec(6);
        config.setMaxRetryIntervalInMillis(200);
        config.setCheckpointIntervalInMillis(500);
        while (true) { // a server that is started anew is not there for a moment
            try {
                new TunnelWorker(System.getenv("WIDEROW_TUNNEL"), tunnels, config).connectAndWorking();
                break;
            } catch (Exception e) {
                Thread.sleep(500);
            }
        }
        Thread.currentThread().join();
    }
}
