package compat;

import static compat.T.*;

import com.alicloud.openservices.tablestore.TunnelClient;
import com.alicloud.openservices.tablestore.model.*;
import com.alicloud.openservices.tablestore.model.tunnel.*;
import com.alicloud.openservices.tablestore.tunnel.worker.*;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;

/** Tunnels, and the SDK's own worker. */
@DisabledIfEnvironmentVariable(named = "WIDEROW_NO_TUNNELS", matches = ".+")
final class TunnelCases extends Case {
    private TunnelClient tunnels;
    private final List<TunnelWorker> workers = new ArrayList<>();
    private final List<TunnelWorkerConfig> configs = new ArrayList<>();

    @BeforeEach
    void connect() {
        tunnels = new TunnelClient(Server.ENDPOINT, Server.KEY_ID, Server.SECRET, Server.INSTANCE);
    }

    @AfterEach
    void leave() {
        workers.forEach(TunnelWorker::shutdown);
        configs.forEach(TunnelWorkerConfig::shutdown);
        tunnels.shutdown();
    }

    /** What a worker was told, in order. */
    private static final class Seen implements IChannelProcessor {
        final List<StreamRecord> records = new ArrayList<>();

        @Override
        public synchronized void process(ProcessRecordsInput input) {
            records.addAll(input.getRecords());
        }

        @Override
        public void shutdown() {}

        synchronized int count() {
            return records.size();
        }

        /** The values of a row, as they came. */
        synchronized List<Long> of(long key) {
            List<Long> values = new ArrayList<>();
            for (StreamRecord record : records) {
                if (record.getPrimaryKey().getPrimaryKeyColumn(0).getValue().asLong() == key) {
                    values.add(record.getColumns().get(0).getColumn().getValue().asLong());
                }
            }
            return values;
        }
    }

    private String create(String table, String name, TunnelType type) {
        return tunnels.createTunnel(new CreateTunnelRequest(table, name, type)).getTunnelId();
    }

    private DescribeTunnelResponse describe(String table, String name) {
        return tunnels.describeTunnel(new DescribeTunnelRequest(table, name));
    }

    private TunnelWorker work(String id, Seen seen) throws Exception {
        TunnelWorkerConfig config = new TunnelWorkerConfig(seen);
        config.setHeartbeatIntervalInSec(5);
        config.setHeartbeatTimeoutInSec(6);
        config.setMaxRetryIntervalInMillis(200);
        TunnelWorker worker = new TunnelWorker(id, tunnels, config);
        worker.connectAndWorking();
        configs.add(config);
        workers.add(worker);
        return worker;
    }

    private static void until(String what, BooleanSupplier is) throws Exception {
        for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(40); !is.getAsBoolean(); Thread.sleep(20)) {
            check(System.nanoTime() < end, "not within 40 s: " + what);
        }
    }

    @Test @DisplayName("tunnel: created, listed, described, deleted")
    void createdListedDescribedDeleted() throws Exception {
        String table = t.intTable();
        String id = create(table, "changes", TunnelType.Stream);
        refused(409, "OTSTunnelExist", () -> create(table, "changes", TunnelType.Stream));
        create(table, "rows", TunnelType.BaseData);
        equal("tunnels", tunnels.listTunnel(new ListTunnelRequest(table)).getTunnelInfos().size(), 2);
        TunnelInfo info = describe(table, "changes").getTunnelInfo();
        equal("id", info.getTunnelId(), id);
        equal("type", info.getTunnelType(), TunnelType.Stream);
        equal("stage", info.getStage(), TunnelStage.ProcessStream);
        equal("flag", info.getStreamTunnelConfig().getFlag(), StartOffsetFlag.LATEST);
        equal("status", describe(table, "changes").getChannelInfos().get(0).getChannelStatus(), ChannelStatus.WAIT);
        tunnels.deleteTunnel(new DeleteTunnelRequest(table, "changes"));
        refused(400, INVALID, () -> tunnels.deleteTunnel(new DeleteTunnelRequest(table, "changes")));
        refused(400, INVALID, () -> tunnels.deleteTunnel(new DeleteTunnelRequest(table + "x", "changes")));
    }

    @Test @DisplayName("tunnel: changes in order, with the values of before") @Timeout(60)
    void changesInOrder() throws Exception {
        String table = t.intTable();
        Seen seen = new Seen();
        UpdateTableRequest request = new UpdateTableRequest(table);
        StreamSpecification stream = new StreamSpecification(true, 24);
        stream.addOriginColumnsToGet("v");
        request.setStreamSpecification(stream);
        t.client.updateTable(request);
        work(create(table, "changes", TunnelType.Stream), seen);
        t.put(table, pk("pk", 1), c("v", 1));
        t.update(updateChange(table, pk("pk", 1)).put(c("v", 2)));
        until("both changes", () -> seen.count() >= 2);
        equal("first", seen.records.get(0).getRecordType(), StreamRecord.RecordType.PUT);
        equal("second", seen.records.get(1).getRecordType(), StreamRecord.RecordType.UPDATE);
        equal("values", seen.of(1), List.of(1L, 2L));
        equal("before", seen.records.get(1).getOriginColumns().get(0).getColumn().getValue().asLong(), 1L);
    }

    @Test @DisplayName("tunnel: one of two workers leaves") @Timeout(90)
    void oneOfTwoWorkersLeaves() throws Exception {
        String table = t.intTable();
        String id = create(table, "both", TunnelType.BaseAndStream);
        Seen one = new Seen();
        Seen other = new Seen();
        for (int v = 1; v <= 20; v++) {
            t.put(table, pk("pk", v % 4), c("v", v));
        }
        TunnelWorker first = work(id, one);
        until("the rows", () -> one.count() >= 4);
        until("the changes", () -> one.count() >= 24);
        for (int key = 0; key < 4; key++) {
            equal("last of row " + key, one.of(key).get(one.of(key).size() - 1), key == 0 ? 20L : 16L + key);
        }
        work(id, other);
        first.shutdown();
        for (int v = 21; v <= 40; v++) {
            t.put(table, pk("pk", v % 4), c("v", v));
        }
        until("the changes since", () -> other.of(0).contains(40L));
        for (int key = 0; key < 4; key++) {
            List<Long> values = other.of(key);
            for (int i = 1; i < values.size(); i++) {
                check(values.get(i) > values.get(i - 1), "row " + key + ": " + values);
            }
            check(values.contains(key == 0 ? 24L : 20L + key), "row " + key + " lacks a change: " + values);
        }
    }
}
