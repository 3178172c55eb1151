package compat

import (
	"fmt"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

const maxCell = 2 << 20

func manyColumns(n int) []col {
	var columns []col
	for _, name := range columnNames(n) {
		columns = append(columns, c(name, 1))
	}
	return columns
}

func TestLimit(t *testing.T) {
	for _, kind := range []string{"STRING", "BINARY"} {
		value := func(n int) any {
			if kind == "STRING" {
				return repeat('x', n)
			}
			return []byte(repeat(0, n))
		}
		run(t, "a "+kind+" cell of 2 MiB, and one byte more", func(t *T) {
			table, key := t.shared(1), t.key(0)
			t.put(table, key, c("v", value(maxCell)))
			t.wantCells("columns", t.get(table, key), "v", value(maxCell))
			_, err := t.putRow(putChange(table, key, c("v", value(maxCell+1))))
			t.wantInvalid(err, "The length of attribute column: 'v' exceeds the MaxLength:2097152 with CurrentLength:2097153.")
		})
	}

	run(t, "a key of 1024 bytes, and one byte more", func(t *T) {
		for _, kind := range []ts.PrimaryKeyType{text, binary} {
			table := t.table(keyColumn{"pk_0", kind, false})
			value := func(n int) any {
				if kind == text {
					return repeat('x', n)
				}
				return []byte(repeat(0, n))
			}
			t.put(table, pk("pk_0", value(1024)), c("v", 1))
			_, err := t.putRow(putChange(table, pk("pk_0", value(1025)), c("v", 1)))
			t.wantInvalid(err, "The length of primary key column: 'pk_0' exceeds the MaxLength:1024 with CurrentLength:1025.")
		}
	})

	run(t, "1024 columns in one write, and one more", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, manyColumns(1024)...)
		t.equal("columns read", len(t.get(table, key).Columns), 1024)
		_, err := t.putRow(putChange(table, key, manyColumns(1025)...))
		t.wantInvalid(err, "The number of attribute columns exceeds the limit, limit count: 1024, column count: 1025.")
	})

	run(t, "a row grows past 1024 columns", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, manyColumns(1024)...)
		change := updateChange(table, key)
		for n := 0; n < 1000; n++ {
			change.PutColumn(fmt.Sprintf("d%04d", n), int64(n))
		}
		t.update(change)
		t.equal("columns read", len(t.get(table, key).Columns), 2024)
	})

	run(t, "a page holds 5000 rows", func(t *T) {
		table := t.numbered(0, 5200)
		answer, err := t.getRange(everyRow(table))
		t.must(err)
		t.equal("rows of the first page", len(answer.Rows), 5000)
		t.check(answer.NextStartPrimaryKey != nil, "there is no next key")
		t.equal("next key", keyValues(answer.NextStartPrimaryKey), values(5000))
		rows, pages := t.readAll(everyRow(table))
		t.equal("all rows", firstKeys(rows), count(0, 5200))
		t.equal("pages", pages, 2)
	})

	run(t, "a page scans 5000 rows under a filter", func(t *T) {
		table := t.numbered(0, 5200)
		criteria := everyRow(table)
		criteria.Filter = single("v", ts.CT_GREATER_EQUAL, 5100)
		answer, err := t.getRange(criteria)
		t.must(err)
		t.equal("rows of the first page", len(answer.Rows), 0)
		t.check(answer.NextStartPrimaryKey != nil, "there is no next key")
		rows, pages := t.readAll(criteria)
		t.equal("all rows", firstKeys(rows), count(5100, 5200))
		t.equal("pages", pages, 2)
	})

	run(t, "a page holds 4 MB", func(t *T) {
		table := t.intTable()
		for n := 0; n < 6; n++ {
			t.put(table, pk("pk", n), c("v", repeat('x', 1<<20)))
		}
		answer, err := t.getRange(everyRow(table))
		t.must(err)
		t.check(len(answer.Rows) >= 3 && len(answer.Rows) <= 5, "%d rows of 1 MiB in one page", len(answer.Rows))
		t.check(answer.NextStartPrimaryKey != nil, "there is no next key")
		rows, _ := t.readAll(everyRow(table))
		t.equal("all rows", firstKeys(rows), count(0, 6))
	})

	run(t, "a body of more than 5 MB", func(t *T) {
		change := putChange(t.shared(1), t.key(0))
		for n := 0; n < 6; n++ {
			change.AddColumn(fmt.Sprintf("c%d", n), repeat('x', 1<<20))
		}
		_, err := t.putRow(change)
		t.refused(err, 413, "OTSRequestBodyTooLarge")
	})
}
