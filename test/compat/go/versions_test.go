package compat

import (
	"math"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// versions reads up to n versions of every column.
func (t *T) versions(table string, key *ts.PrimaryKey, n int32) *ts.GetRowResponse {
	criteria := query(table, key)
	criteria.MaxVersion = n
	return t.getBy(criteria)
}

// within reads every version in a time range; the SDK then sends no max_versions.
func (t *T) within(table string, key *ts.PrimaryKey, times ts.TimeRange) *ts.GetRowResponse {
	criteria := query(table, key)
	criteria.MaxVersion = 0
	criteria.TimeRange = &times
	return t.getBy(criteria)
}

// fourVersions writes the values 1 to 4 at base+1 to base+4 and returns base.
func (t *T) fourVersions(table string, key *ts.PrimaryKey) int64 {
	base := nowMillis() - 1000
	t.put(table, key, cAt("v", 1, base+1), cAt("v", 2, base+2), cAt("v", 3, base+3), cAt("v", 4, base+4))
	return base
}

func TestVersion(t *testing.T) {
	run(t, "three updates without a timestamp are three versions", func(t *T) {
		table, key := t.shared(5), t.key(0)
		for n := 1; n <= 3; n++ {
			change := updateChange(table, key)
			change.PutColumn("v", int64(n))
			t.update(change)
		}
		t.wantCells("versions", t.versions(table, key, 5), "v", 3, "v", 2, "v", 1)
	})

	run(t, "newest first, as many as asked", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		t.wantCells("two versions", t.versions(table, key, 2), "v", 4, "v", 3)
		answer := t.versions(table, key, 100)
		t.wantCells("all versions", answer, "v", 4, "v", 3, "v", 2, "v", 1)
		t.equal("timestamp", answer.Columns[3].Timestamp, base+1)
	})

	run(t, "time range", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		t.wantCells("range", t.within(table, key, ts.TimeRange{Start: base + 2, End: base + 4}), "v", 3, "v", 2)
	})

	run(t, "specific time", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		t.wantCells("one version", t.within(table, key, ts.TimeRange{Specific: base + 2}), "v", 2)
	})

	run(t, "specific time together with max versions", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		criteria := query(table, key)
		criteria.TimeRange = &ts.TimeRange{Specific: base + 3}
		t.wantCells("one version", t.getBy(criteria), "v", 3)
	})

	run(t, "time range together with max versions", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		criteria := query(table, key)
		criteria.TimeRange = &ts.TimeRange{Start: base, End: base + 4}
		t.wantCells("newest in the range", t.getBy(criteria), "v", 3)
	})

	run(t, "a range of time without cells leaves the key", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		answer := t.within(table, key, ts.TimeRange{Start: 1, End: base})
		t.equal("columns", len(answer.Columns), 0)
		criteria := rangeQuery(table, t.key(0), t.key(1))
		criteria.MaxVersion = 0
		criteria.TimeRange = &ts.TimeRange{Start: 1, End: base}
		rows, _ := t.readAll(criteria)
		t.equal("rows of the range", len(rows), 1)
		t.equal("columns of the row", len(rows[0].Columns), 0)
	})

	run(t, "the oldest go when there are too many", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := nowMillis() - 1000
		for n := int64(1); n <= 8; n++ {
			change := updateChange(table, key)
			change.PutColumnWithTimestamp("v", n, base+n)
			t.update(change)
		}
		t.wantCells("versions", t.versions(table, key, 10), "v", 8, "v", 7, "v", 6, "v", 5, "v", 4)
	})

	run(t, "an older timestamp does not hide a newer one", func(t *T) {
		table, key := t.shared(1), t.key(0)
		now := nowMillis()
		t.put(table, key, cAt("v", "new", now))
		change := updateChange(table, key)
		change.PutColumnWithTimestamp("v", "old", now-500)
		t.update(change)
		t.wantCells("columns", t.get(table, key), "v", "new")
	})

	run(t, "the same timestamp twice, the last wins", func(t *T) {
		table, key, now := t.shared(5), t.key(0), nowMillis()
		for _, value := range []string{"first", "second"} {
			change := updateChange(table, key)
			change.PutColumnWithTimestamp("v", value, now)
			t.update(change)
		}
		t.wantCells("versions", t.versions(table, key, 5), "v", "second")
	})

	run(t, "delete one version that is not there", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		change := updateChange(table, key)
		change.DeleteColumnWithTimestamp("v", base)
		t.update(change)
		t.equal("versions", len(t.versions(table, key, 5).Columns), 4)
	})

	run(t, "delete the newest version", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		change := updateChange(table, key)
		change.DeleteColumnWithTimestamp("v", base+4)
		t.update(change)
		t.wantCells("newest", t.get(table, key), "v", 3)
	})

	run(t, "delete all versions, then write again", func(t *T) {
		table, key := t.shared(5), t.key(0)
		base := t.fourVersions(table, key)
		change := updateChange(table, key)
		change.DeleteColumn("v")
		t.update(change)
		t.equal("versions", len(t.versions(table, key, 5).Columns), 0)
		change = updateChange(table, key)
		change.PutColumnWithTimestamp("v", int64(9), base+2)
		t.update(change)
		t.wantCells("versions", t.versions(table, key, 5), "v", 9)
	})

	run(t, "fewer versions after max versions is lowered", func(t *T) {
		table := t.create(createRequest(uniqueName(), 5, keyColumn{"pk", integer, false}))
		t.fourVersions(table, pk("pk", 1))
		_, err := t.client.UpdateTable(&ts.UpdateTableRequest{TableName: table, TableOption: ts.NewTableOptionWithMaxVersion(2)})
		t.must(err)
		t.wantCells("versions", t.versions(table, pk("pk", 1), 5), "v", 4, "v", 3)
	})

	run(t, "more versions after max versions is raised", func(t *T) {
		table := t.intTable()
		_, err := t.client.UpdateTable(&ts.UpdateTableRequest{TableName: table, TableOption: ts.NewTableOptionWithMaxVersion(3)})
		t.must(err)
		t.fourVersions(table, pk("pk", 1))
		t.wantCells("versions", t.versions(table, pk("pk", 1), 5), "v", 4, "v", 3, "v", 2)
	})

	run(t, "a timestamp too far from now", func(t *T) {
		day := int64(86400 * 1000)
		for _, at := range []int64{nowMillis() - 2*day, nowMillis() + 2*day} {
			_, err := t.putRow(putChange(t.shared(1), t.key(0), c("fine", 1), cAt("v", 1, at)))
			t.wantInvalid(err, "Invalid timestamp. Cell:v.")
		}
		t.check(!present(t.get(t.shared(1), t.key(0))), "a refused row was written")
	})

	run(t, "a wide deviation allows old timestamps", func(t *T) {
		request := createRequest(uniqueName(), 1, keyColumn{"pk", integer, false})
		request.TableOption.DeviationCellVersionInSec = math.MaxInt64 / 1000000
		table := t.create(request)
		t.put(table, pk("pk", 1), cAt("v", 1, 1000))
		answer := t.get(table, pk("pk", 1))
		t.wantCells("columns", answer, "v", 1)
		t.equal("timestamp", answer.Columns[0].Timestamp, int64(1000))
	})

	run(t, "a timestamp out of range", func(t *T) {
		_, err := t.putRow(putChange(t.shared(1), t.key(0), cAt("v", 1, math.MaxInt64/1000)))
		t.wantInvalid(err, "Timestamp must be in range [0, INT64_MAX/1000).")
	})
}
