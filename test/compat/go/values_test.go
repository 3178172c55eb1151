package compat

import (
	"fmt"
	"math"
	"testing"
)

// allBytes holds every byte once, so that NUL and 0xff are in it.
func allBytes() []byte {
	out := make([]byte, 256)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

func TestValue(t *testing.T) {
	attributes := map[string][]any{
		"INTEGER": {int64(math.MinInt64), int64(math.MaxInt64), int64(0), int64(-1)},
		"STRING":  {"", "plain", "中文 ünïcödé 🙂", "with\x00zero", repeat('x', 5000)},
		"BINARY":  {[]byte{}, []byte{0}, []byte("a\x00b\x00"), allBytes()},
		"DOUBLE":  {0.0, -1.5, math.MaxFloat64, math.SmallestNonzeroFloat64, -math.MaxFloat64, 1e-300},
		"BOOLEAN": {true, false},
	}
	for _, kind := range []string{"INTEGER", "STRING", "BINARY", "DOUBLE", "BOOLEAN"} {
		run(t, ""+kind+" attributes", func(t *T) {
			table, key := t.shared(1), t.key(0)
			var columns []col
			var expected []any
			for i, value := range attributes[kind] {
				name := fmt.Sprintf("c%d", i)
				columns = append(columns, c(name, value))
				expected = append(expected, name, value)
			}
			t.put(table, key, columns...)
			t.wantCells("columns", t.get(table, key), expected...)
		})
	}

	run(t, "every type in one row", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("a", 1), c("b", "s"), c("c", []byte("b")), c("d", 2.5), c("e", true))
		t.wantCells("columns", t.get(table, key), "a", 1, "b", "s", "c", []byte("b"), "d", 2.5, "e", true)
	})

	run(t, "a column may change its type", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("c", 1))
		t.put(table, key, c("c", "text"))
		t.wantCells("columns", t.get(table, key), "c", "text")
	})

	keys := map[string][]any{
		"INTEGER": {int64(math.MinInt64), int64(-1), int64(0), int64(1), int64(math.MaxInt64)},
		"STRING":  {"", "\x00", "a", "a\x00b", "中文", repeat('k', 1024)},
		"BINARY":  {[]byte{}, []byte{0}, []byte{0, 0}, []byte{0xff}, allBytes()},
	}
	kinds := map[string]keyColumn{"INTEGER": {"pk", integer, false}, "STRING": {"pk", text, false}, "BINARY": {"pk", binary, false}}
	for _, kind := range []string{"INTEGER", "STRING", "BINARY"} {
		run(t, ""+kind+" keys", func(t *T) {
			table := t.table(kinds[kind])
			for i, value := range keys[kind] {
				t.put(table, pk("pk", value), c("n", i))
			}
			for i, value := range keys[kind] {
				answer := t.get(table, pk("pk", value))
				t.check(present(answer), "no row under %s", show(value))
				t.equal("key", answer.PrimaryKey.PrimaryKeys[0].Value, value)
				t.wantCells("row under "+show(value), answer, "n", i)
			}
		})
	}

	run(t, "three key types in one key", func(t *T) {
		table := t.table(keyColumn{"i", integer, false}, keyColumn{"s", text, false}, keyColumn{"b", binary, false}, keyColumn{"j", integer, false})
		key := pk("i", -5, "s", "text", "b", []byte{0, 1}, "j", 9)
		t.put(table, key, c("v", 1))
		answer := t.get(table, key)
		t.equal("key", keyValues(&answer.PrimaryKey), values(-5, "text", []byte{0, 1}, 9))
		t.check(!present(t.get(table, pk("i", -5, "s", "text", "b", []byte{0, 2}, "j", 9))), "another key answers")
	})
}
