package compat

import (
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

const mebibyte = int64(1 << 20)

func (t *T) splits(table string, size, unit int64, limit *int32) *ts.ComputeSplitPointsBySizeResponse {
	answer, err := t.client.ComputeSplitPointsBySize(&ts.ComputeSplitPointsBySizeRequest{TableName: table,
		SplitSize: size, SplitSizeUnitInByte: &unit, SplitPointLimit: limit})
	t.must(err)
	return answer
}

// wantWhole checks that the splits cover the table without a gap.
func (t *T) wantWhole(splits []*ts.Split) {
	first, last := splits[0].LowerBound.PrimaryKeys[0], splits[len(splits)-1].UpperBound.PrimaryKeys[0]
	t.equal("lower end", first.PrimaryKeyOption, ts.MIN)
	t.equal("upper end", last.PrimaryKeyOption, ts.MAX)
	for i := 1; i < len(splits); i++ {
		lower, upper := splits[i].LowerBound.PrimaryKeys[0], splits[i-1].UpperBound.PrimaryKeys[0]
		t.equal("bounds meet", lower.Value, upper.Value)
		if i > 1 {
			before := splits[i-1].LowerBound.PrimaryKeys[0].Value.(int64)
			t.check(lower.Value.(int64) > before, "split points do not rise: %v after %v", lower.Value, before)
		}
	}
}

// bulky makes a table of about 8 MiB.
func (t *T) bulky() string {
	table := t.intTable()
	t.fill(table, 0, 800, func(n int) []col { return []col{c("v", repeat(byte('a'+n%26), 10000))} })
	return table
}

func TestSplit(t *testing.T) {
	run(t, "an empty table is one split", func(t *T) {
		splits := t.splits(t.intTable(), 1, 100*mebibyte, nil).Splits
		t.equal("number of splits", len(splits), 1)
		t.wantWhole(splits)
	})

	run(t, "a filled table", func(t *T) {
		answer := t.splits(t.bulky(), 2, mebibyte, nil)
		t.check(len(answer.Splits) >= 2, "8 MiB make %d split of 2 MiB", len(answer.Splits))
		t.wantWhole(answer.Splits)
	})

	run(t, "rows read split by split are all rows", func(t *T) {
		table := t.bulky()
		total := 0
		for _, split := range t.splits(table, 2, mebibyte, nil).Splits {
			rows, _ := t.readAll(rangeQuery(table, split.LowerBound, split.UpperBound))
			total += len(rows)
		}
		t.equal("rows", total, 800)
	})

	run(t, "limited number of split points", func(t *T) {
		limit := int32(1)
		splits := t.splits(t.bulky(), 1, mebibyte, &limit).Splits
		t.check(len(splits) <= 2, "%d splits with one split point", len(splits))
		t.wantWhole(splits)
	})

	run(t, "size 0", func(t *T) {
		_, err := t.client.ComputeSplitPointsBySize(&ts.ComputeSplitPointsBySizeRequest{TableName: t.intTable()})
		t.wantInvalid(err, "The split_size should be greater than 0.")
	})

	run(t, "unit too small", func(t *T) {
		unit := mebibyte - 1
		_, err := t.client.ComputeSplitPointsBySize(&ts.ComputeSplitPointsBySizeRequest{TableName: t.intTable(), SplitSize: 1, SplitSizeUnitInByte: &unit})
		t.wantInvalid(err, "The split_size_unit_in_byte should be greater equal than: 1048576")
	})
}
