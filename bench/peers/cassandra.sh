# Apache Cassandra from Maven Central, one node, its log synced before a write is answered; the Java driver asks it. Loading
# takes long, so it gets 200,000 records at most, which is to its advantage.

cassandra_title="Cassandra"
cassandra_settings() { echo "$(java_version cassandra cassandra-all): one node, -Xmx2g, commitlog_sync batch, $(cassandra_records) records; Java driver $(java_version cassandra java-driver-core), asynchronous"; }

# What Java 17 must open to it, as its own start script does.
cassandra_opens=(java.base/java.io java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect java.base/java.net
    java.base/java.nio java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic
    java.base/jdk.internal.loader java.base/jdk.internal.math java.base/jdk.internal.misc java.base/jdk.internal.module
    java.base/jdk.internal.perf java.base/jdk.internal.ref java.base/jdk.internal.reflect java.base/jdk.internal.util.jar
    java.base/sun.nio.ch java.management/com.sun.jmx.remote.internal java.rmi/sun.rmi.registry java.rmi/sun.rmi.server
    java.rmi/sun.rmi.transport.tcp java.sql/java.sql jdk.management/com.sun.management.internal)

cassandra_start() {
    local dir=$work/cassandra open=() m
    java_fetch cassandra CassandraLoad || return 1
    cassandra_port=$(free_port)
    local storage_port
    storage_port=$(free_port)
    mkdir "$dir"
    cat >"$dir/cassandra.yaml" <<YAML
cluster_name: bench
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
commitlog_sync: batch
data_file_directories: [$dir/data]
commitlog_directory: $dir/commitlog
saved_caches_directory: $dir/caches
hints_directory: $dir/hints
cdc_raw_directory: $dir/cdc
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
storage_port: $storage_port
native_transport_port: $cassandra_port
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "127.0.0.1:$storage_port"
YAML
    for m in "${cassandra_opens[@]}"; do open+=(--add-opens "$m=ALL-UNNAMED" --add-exports "$m=ALL-UNNAMED"); done
    java -Xms2g -Xmx2g -XX:+UseG1GC "${open[@]}" -Djdk.attach.allowAttachSelf=true -Dio.netty.tryReflectionSetAccessible=true \
        "-Dcassandra.config=file://$dir/cassandra.yaml" "-Dcassandra.storagedir=$dir" -Dcassandra-foreground=yes \
        "-Dlogback.configurationFile=$here/peers/java/logback.xml" -cp "$(cat "$java_cache/cassandra/classpath")" \
        org.apache.cassandra.service.CassandraDaemon >"$dir/log" 2>&1 &
    cassandra_pid=$!
    wait_long=180 wait_for port_open "$cassandra_port" || { tail -5 "$dir/log"; return 1; }
    java_client cassandra CassandraLoad "$cassandra_port"
}

cassandra_stop() { end_process "$cassandra_client"; end_process "$cassandra_pid"; }
cassandra_records() { if [ "$RECORDS" -lt 200000 ]; then echo "$RECORDS"; else echo 200000; fi; }
cassandra_load() { java_ask cassandra 900 load "$(cassandra_records)" && java_ask cassandra 60 read "$(cassandra_records)" 5; }
cassandra_measure() { java_ask cassandra $((seconds + 60)) "$1" "$(cassandra_records)" "$seconds"; }
