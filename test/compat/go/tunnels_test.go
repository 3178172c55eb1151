package compat

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
	"github.com/aliyun/aliyun-tablestore-go-sdk/tunnel"
	"github.com/aliyun/aliyun-tablestore-go-sdk/tunnel/protocol"
	"go.uber.org/zap"
)

// What a worker tells of each row or change: the tunnel's channel, the row's key, its column v, and when it was changed.
type told struct {
	channel   string
	pk, v, at int64
}

func tunnels() tunnel.TunnelClient {
	return tunnel.NewTunnelClient(settings.endpoint, settings.instance, settings.id, settings.secret)
}

// quick works as the SDK does by itself, only without its long pauses, and hands over each record.
func quick(each func(channel string, record *tunnel.Record)) *tunnel.TunnelWorkerConfig {
	return &tunnel.TunnelWorkerConfig{
		HeartbeatInterval: time.Second,
		HeartbeatTimeout:  3 * time.Second,
		LogConfig:         &zap.Config{Level: zap.NewAtomicLevelAt(zap.FatalLevel), Encoding: "json"},
		BackoffConfig:     &tunnel.ChannelBackoffConfig{MaxDelay: 100 * time.Millisecond},
		ProcessorFactory: &tunnel.SimpleProcessFactory{
			Logger:     zap.NewNop(),
			CpInterval: 200 * time.Millisecond,
			ProcessFunc: func(context *tunnel.ChannelContext, records []*tunnel.Record) error {
				for _, record := range records {
					each(context.ChannelId, record)
				}
				return nil
			},
		},
	}
}

// worker tells each row or change of the tunnel.
func worker(id string, each func(told)) (tunnel.TunnelWorker, error) {
	return tunnels().NewTunnelWorker(id, quick(func(channel string, record *tunnel.Record) {
		one := told{channel: channel, at: record.Timestamp}
		one.pk = record.PrimaryKey.PrimaryKeys[0].Value.(int64)
		for _, column := range record.Columns {
			if *column.Name == "v" {
				one.v = column.Value.(int64)
			}
		}
		each(one)
	}))
}

// A process of its own, which can be killed: the test program once more. It prints what it is told.
func workAlone() {
	var lock sync.Mutex
	w, err := worker(os.Getenv("WIDEROW_TUNNEL"), func(one told) {
		lock.Lock()
		defer lock.Unlock()
		fmt.Println(one.channel, one.pk, one.v, one.at)
	})
	if err == nil {
		err = w.ConnectAndWorking()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// seen collects what all workers of a tunnel were told.
type seen struct {
	sync.Mutex
	t       *T
	values  map[int64][]int64 // of a key, in the order in which they came
	highest map[int64]int64
	oldest  map[string]int64 // of a channel: no change before is to come any more
	count   int
}

// What was told before may come again, but only from the last checkpoint on.
func (s *seen) add(one told) {
	s.Lock()
	defer s.Unlock()
	if one.v <= s.highest[one.pk] && one.at < s.oldest[one.channel] {
		s.t.Errorf("channel %s: a change of %d came again, behind the checkpoint at %d", one.channel, one.at, s.oldest[one.channel])
	}
	s.values[one.pk] = append(s.values[one.pk], one.v)
	s.highest[one.pk] = max(s.highest[one.pk], one.v)
	s.count++
}

// holds notes the checkpoints there are now: whoever reads on begins there.
func (s *seen) holds(channels []*tunnel.ChannelInfo) {
	s.Lock()
	defer s.Unlock()
	for _, channel := range channels {
		s.oldest[channel.ChannelId] = channel.ChannelRPO / 1000
	}
}

// has tells whether the value came for every key.
func (s *seen) has(keys, value int) bool {
	s.Lock()
	defer s.Unlock()
	for key := 0; key < keys; key++ {
		if values := s.values[int64(key)]; len(values) == 0 || values[len(values)-1] != int64(value) {
			return false
		}
	}
	return true
}

// process is a worker that can be killed.
type process struct {
	*exec.Cmd
	count atomic.Int64 // of what it was told
}

func (s *seen) total() int {
	s.Lock()
	defer s.Unlock()
	return s.count
}

// start starts a process that works on the tunnel; the case kills it at the latest.
func (s *seen) start(id string) *process {
	s.t.Helper()
	process := &process{Cmd: exec.Command(os.Args[0])}
	if other := os.Getenv("WIDEROW_TUNNEL_WORKER"); other != "" { // another SDK's, which prints the same
		process.Cmd = exec.Command("sh", "-c", "exec "+other)
	}
	process.Env = append(os.Environ(), "WIDEROW_TUNNEL="+id)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	s.t.must(err)
	s.t.must(process.Start())
	s.t.Cleanup(func() { process.Process.Kill(); process.Wait() })
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var one told
			if n, _ := fmt.Sscan(lines.Text(), &one.channel, &one.pk, &one.v, &one.at); n == 4 {
				s.add(one)
				process.count.Add(1)
			}
		}
	}()
	return process
}

func (t *T) seen() *seen {
	return &seen{t: t, values: map[int64][]int64{}, highest: map[int64]int64{}, oldest: map[string]int64{}}
}

// patience is how long things may take that are waited for.
var patience = 40 * time.Second

func (t *T) until(what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.fail("not within %v: %s", patience, what)
		}
	}
}

func (t *T) tunnel(table, name string, kind tunnel.TunnelType) string {
	t.Helper()
	answer, err := tunnels().CreateTunnel(&tunnel.CreateTunnelRequest{TableName: table, TunnelName: name, Type: kind})
	t.must(err)
	return answer.TunnelId
}

func (t *T) describeTunnel(table, name string) *tunnel.DescribeTunnelResponse {
	t.Helper()
	answer, err := tunnels().DescribeTunnel(&tunnel.DescribeTunnelRequest{TableName: table, TunnelName: name})
	t.must(err)
	return answer
}

func (t *T) wantTunnelError(err error, code string) {
	t.Helper()
	refused, ok := err.(*tunnel.TunnelError)
	t.check(ok, "expected %s\n  actual   %v", code, err)
	t.equal("code", refused.Code, code)
}

// writeValues puts the values from one to the other into each of the keys 0 … keys-1, in batches.
func (t *T) writeValues(table string, keys, from, to int) {
	t.Helper()
	for v := from; v <= to; v++ {
		var changes []ts.RowChange
		for key := 0; key < keys; key++ {
			changes = append(changes, putChange(table, pk("pk", key), c("v", v)))
		}
		for tries := 1; ; tries++ { // where a server is killed meanwhile
			_, err := t.batchWrite(changes...)
			if err == nil {
				break
			}
			t.check(tries < 100, "a batch could not be written: %v", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// inOrder: each value came at least once, and for the first time in the order in which it was written. A value may be repeated from
// the last checkpoint on, then again in that order.
func (s *seen) inOrder(keys, last int) {
	s.t.Helper()
	s.Lock()
	defer s.Unlock()
	for key := 0; key < keys; key++ {
		highest, before := int64(0), int64(0)
		for _, v := range s.values[int64(key)] {
			s.t.check(v <= highest+1, "key %d: %d came before %d", key, v, highest+1)
			s.t.check(v <= before+1, "key %d: %d came right behind %d", key, v, before)
			highest, before = max(highest, v), v
		}
		s.t.equal(fmt.Sprint("the last value of key ", key), highest, int64(last))
	}
}

func needsTunnels(t testing.TB) {
	if os.Getenv("WIDEROW_NO_TUNNELS") != "" {
		t.Skip("over a pool a tunnel of rows and changes begins after a minute")
	}
}

func TestTunnel(t *testing.T) {
	needsTunnels(t)
	run(t, "a tunnel is created, listed, described and deleted", func(t *T) {
		table := t.intTable()
		id := t.tunnel(table, "changes", tunnel.TunnelTypeStream)
		_, err := tunnels().CreateTunnel(&tunnel.CreateTunnelRequest{TableName: table, TunnelName: "changes", Type: tunnel.TunnelTypeStream})
		t.wantTunnelError(err, "OTSTunnelExist")
		t.tunnel(table, "rows", tunnel.TunnelTypeBaseData)
		list, err := tunnels().ListTunnel(&tunnel.ListTunnelRequest{TableName: table})
		t.must(err)
		t.equal("tunnels", len(list.Tunnels), 2)
		t.equal("id", list.Tunnels[0].TunnelId, id)
		info := t.describeTunnel(table, "changes")
		t.equal("type", info.Tunnel.TunnelType, "Stream")
		t.equal("stage", info.Tunnel.Stage, "ProcessStream")
		t.equal("flag", info.Tunnel.StreamTunnelConfig.Flag, protocol.StartOffsetFlag_LATEST)
		t.equal("status", info.Channels[0].ChannelStatus, "WAIT")
		t.equal("stage of the other", t.describeTunnel(table, "rows").Tunnel.Stage, "ProcessBaseData")
		t.equal("hours of the stream", t.describe(table).StreamDetails.ExpirationTime, int32(168))
		for _, name := range []string{"changes", "rows"} {
			_, err = tunnels().DeleteTunnel(&tunnel.DeleteTunnelRequest{TableName: table, TunnelName: name})
			t.must(err)
		}
		_, err = tunnels().DeleteTunnel(&tunnel.DeleteTunnelRequest{TableName: table, TunnelName: "rows"})
		t.wantTunnelError(err, "OTSParameterInvalid")
		_, err = tunnels().DescribeTunnel(&tunnel.DescribeTunnelRequest{TableName: table + "x", TunnelName: "rows"})
		t.wantTunnelError(err, "OTSParameterInvalid")
		_, err = tunnels().CreateTunnel(&tunnel.CreateTunnelRequest{TableName: table, TunnelName: "backwards", Type: tunnel.TunnelTypeStream,
			StreamTunnelConfig: &tunnel.StreamTunnelConfig{StartOffset: 2000, EndOffset: 1000}})
		t.wantTunnelError(err, "OTSParameterInvalid")
	})
	run(t, "a worker is told every row once, and then there are only changes", func(t *T) {
		table := t.intTable()
		t.tunnel(table, "rows", tunnel.TunnelTypeBaseData)
		for from := 0; from < 1200; from += 200 {
			var changes []ts.RowChange
			for key := from; key < from+200; key++ {
				changes = append(changes, putChange(table, pk("pk", key), c("v", key)))
			}
			_, err := t.batchWrite(changes...)
			t.must(err)
		}
		s := t.seen()
		w, err := worker(t.describeTunnel(table, "rows").Tunnel.TunnelId, s.add)
		t.must(err)
		defer w.Shutdown()
		go w.ConnectAndWorking()
		t.until("the stage ProcessStream", func() bool { return t.describeTunnel(table, "rows").Tunnel.Stage == "ProcessStream" })
		for key := 0; key < 1200; key++ {
			t.equal(fmt.Sprint("values of row ", key), s.values[int64(key)], []int64{int64(key)})
		}
	})
	run(t, "a worker is told what a column held before", func(t *T) {
		table := t.intTable()
		_, err := client.UpdateTable(&ts.UpdateTableRequest{TableName: table, StreamSpec: &ts.StreamSpecification{
			EnableStream: true, ExpirationTime: 24, OriginColumnsToGet: []string{"v"}}})
		t.must(err)
		id := t.tunnel(table, "changes", tunnel.TunnelTypeStream)
		t.put(table, pk("pk", 1), c("v", 1))
		t.put(table, pk("pk", 1), c("v", 2))
		var before []any
		done := make(chan bool, 1)
		config := quick(func(_ string, record *tunnel.Record) {
			for _, column := range record.OriginColumns {
				before = append(before, column.Value)
			}
			if record.Columns[0].Value == int64(2) {
				done <- true
			}
		})
		w, err := tunnels().NewTunnelWorker(id, config)
		t.must(err)
		defer w.Shutdown()
		go w.ConnectAndWorking()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.fail("the change of a row that was there never came")
		}
		t.equal("values before", before, []any{int64(1)})
	})
	run(t, "of two workers one is killed: every change comes, and those of a row in order", func(t *T) {
		table := t.intTable()
		id := t.tunnel(table, "changes", tunnel.TunnelTypeStream)
		s := t.seen()
		owner, other := s.start(id), s.start(id)
		t.writeValues(table, 50, 1, 15)
		t.until("half of the changes", func() bool { return s.total() >= 750 })
		if owner.count.Load() == 0 {
			owner, other = other, owner
		}
		t.equal("what the one without a channel was told", other.count.Load(), int64(0))
		t.until("a checkpoint", func() bool { return t.describeTunnel(table, "changes").Channels[0].ChannelRPO > 0 })
		owner.Process.Kill()
		s.holds(t.describeTunnel(table, "changes").Channels)
		t.writeValues(table, 50, 16, 30)
		t.until("the last changes", func() bool { return s.has(50, 30) })
		s.inOrder(50, 30)
	})
	run(t, "rows first, then the changes since, and none is missed", func(t *T) {
		table := t.intTable()
		t.writeValues(table, 50, 1, 1)
		id := t.tunnel(table, "both", tunnel.TunnelTypeBaseStream)
		t.writeValues(table, 50, 2, 2)
		s := t.seen()
		s.start(id)
		t.until("every row", func() bool { return s.total() >= 50 })
		t.writeValues(table, 50, 3, 10)
		t.until("the last changes", func() bool { return s.has(50, 10) })
		for key := int64(0); key < 50; key++ {
			values := s.values[key]
			t.equal(fmt.Sprint("changes of row ", key), values[len(values)-9:], []int64{2, 3, 4, 5, 6, 7, 8, 9, 10})
		}
	})
	run(t, "changes up to a time, and the worker ends with its tunnel", func(t *T) {
		table := t.intTable()
		now := time.Now()
		request := &tunnel.CreateTunnelRequest{TableName: table, TunnelName: "range", Type: tunnel.TunnelTypeStream,
			StreamTunnelConfig: &tunnel.StreamTunnelConfig{StartOffset: uint64(now.UnixNano()), EndOffset: uint64(now.Add(3 * time.Second).UnixNano())}}
		made, err := tunnels().CreateTunnel(request)
		t.must(err)
		t.equal("config", *t.describeTunnel(table, "range").Tunnel.StreamTunnelConfig, *request.StreamTunnelConfig)
		t.writeValues(table, 10, 1, 1)
		s := t.seen()
		w, err := worker(made.TunnelId, s.add)
		t.must(err)
		defer w.Shutdown()
		ended := make(chan error)
		go func() { ended <- w.ConnectAndWorking() }()
		t.until("the end of the range", func() bool { return t.describeTunnel(table, "range").Channels[0].ChannelStatus == "TERMINATED" })
		t.writeValues(table, 10, 2, 2)
		s.inOrder(10, 1)
		_, err = tunnels().DeleteTunnel(&tunnel.DeleteTunnelRequest{TableName: table, TunnelName: "range"})
		t.must(err)
		t.wantTunnelError(<-ended, "OTSParameterInvalid")
	})
}

// TestTunnelOverKills has a server of its own (test/tunnel/run.sh): WIDEROW_TUNNEL_TABLE is a table of four partitions, WIDEROW_PID
// the server's process, and WIDEROW_START what starts it anew.
func TestTunnelOverKills(t *testing.T) {
	if os.Getenv("WIDEROW_START") == "" {
		t.Skip("no server that may be killed")
	}
	run(t, "a worker and the server are killed: every change comes, those of a row in order, from the last checkpoint on", func(t *T) {
		table := os.Getenv("WIDEROW_TUNNEL_TABLE")
		values, err := strconv.Atoi(os.Getenv("WIDEROW_TUNNEL_VALUES"))
		t.must(err)
		pid, err := strconv.Atoi(os.Getenv("WIDEROW_PID"))
		t.must(err)
		const keys = 200
		patience += time.Duration(values) * 50 * time.Millisecond
		id := t.tunnel(table, "changes", tunnel.TunnelTypeStream)
		t.equal("channels", len(t.describeTunnel(table, "changes").Channels), 4)
		s := t.seen()
		one, other := s.start(id), s.start(id)
		channels := func() []*tunnel.ChannelInfo { return t.describeTunnel(table, "changes").Channels }
		t.until("each worker has channels", func() bool {
			owners := map[string]int{}
			for _, channel := range channels() {
				owners[channel.ClientId]++
			}
			return len(owners) == 2 && owners[""] == 0
		})
		t.writeValues(table, keys, 1, values/3)
		t.until("changes by both, with a checkpoint of each channel", func() bool {
			for _, channel := range channels() {
				if channel.ChannelRPO == 0 {
					return false
				}
			}
			return one.count.Load() > 0 && other.count.Load() > 0
		})
		one.Process.Kill()
		s.holds(channels())
		done := make(chan bool)
		go func() { t.writeValues(table, keys, values/3+1, values); close(done) }()
		t.until("two thirds of the changes", func() bool { return s.total() >= keys*values*2/3 })
		before := channels()
		t.must(syscall.Kill(pid, syscall.SIGKILL))
		s.holds(before)
		t.must(exec.Command("sh", "-c", os.Getenv("WIDEROW_START")).Run())
		for i, channel := range channels() {
			t.check(channel.ChannelRPO >= before[i].ChannelRPO, "a checkpoint is lost: %d, %d", channel.ChannelRPO, before[i].ChannelRPO)
		}
		<-done
		t.until("the last changes", func() bool { return s.has(keys, values) })
		s.inOrder(keys, values)
		t.Logf("%d changes, told %d times", keys*values, s.total())
	})
}
