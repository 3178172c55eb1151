# DynamoDB Local from Maven Central, in memory; the AWS SDK for Java asks it. It is made for tests and slow to load, so it
# gets fewer records.

dynamodb_title="DynamoDB Local"
dynamodb_settings() { echo "$(java_version dynamodb DynamoDBLocal): -inMemory, $(dynamodb_records) records; AWS SDK for Java $(java_version dynamodb sdk-core), asynchronous, consistent reads"; }
dynamodb_records() { if [ "$RECORDS" -lt 10000 ]; then echo "$RECORDS"; else echo 10000; fi; }

dynamodb_start() {
    local native
    java_fetch dynamodb DynamoLoad || return 1
    dynamodb_port=$(free_port)
    native=$(tr : '\n' <"$java_cache/dynamodb/classpath" | grep "libsqlite4java-linux-" | grep -v i386 | head -1)
    mkdir "$work/dynamodb"
    java -Xmx1g "-Dsqlite4java.library.path=$(dirname "$native")" -cp "$(cat "$java_cache/dynamodb/classpath")" \
        com.amazonaws.services.dynamodbv2.local.main.ServerRunner -inMemory -port "$dynamodb_port" -disableTelemetry \
        >"$work/dynamodb/log" 2>&1 &
    dynamodb_pid=$!
    wait_long=60 wait_for port_open "$dynamodb_port" || { tail -5 "$work/dynamodb/log"; return 1; }
    java_client dynamodb DynamoLoad "$dynamodb_port"
}

dynamodb_stop() { end_process "$dynamodb_client"; end_process "$dynamodb_pid"; }
dynamodb_load() { java_ask dynamodb 300 load "$(dynamodb_records)" && java_ask dynamodb 60 read "$(dynamodb_records)" 5; }
dynamodb_measure() { java_ask dynamodb $((seconds + 60)) "$1" "$(dynamodb_records)" "$seconds"; }
