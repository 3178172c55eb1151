package compat

import (
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func TestBatch(t *testing.T) {
	run(t, "put, update and delete over two tables", func(t *T) {
		one, two := t.intTable(), t.intTable()
		t.put(one, pk("pk", 3), c("v", "gone"))
		update := updateChange(one, pk("pk", 2))
		update.PutColumn("v", "updated")
		answer, err := t.batchWrite(
			putChange(one, pk("pk", 1), c("v", "put")), update, deleteChange(one, pk("pk", 3)),
			putChange(two, pk("pk", 1), c("v", "other table")))
		t.must(err)
		t.equal("rows of the first table", len(answer.TableToRowsResult[one]), 3)
		t.equal("rows of the second table", len(answer.TableToRowsResult[two]), 1)
		for _, rows := range answer.TableToRowsResult {
			for _, row := range rows {
				t.check(row.IsSucceed, "row %d: %+v", row.Index, row.Error)
			}
		}
		t.wantCells("put", t.get(one, pk("pk", 1)), "v", "put")
		t.wantCells("updated", t.get(one, pk("pk", 2)), "v", "updated")
		t.check(!present(t.get(one, pk("pk", 3))), "the row to delete is still there")
		t.wantCells("other table", t.get(two, pk("pk", 1)), "v", "other table")
	})

	run(t, "a failing row does not stop the others", func(t *T) {
		table := t.shared(1)
		failing := putChange(table, t.key(2), c("v", 2))
		failing.SetCondition(exist)
		answer, err := t.batchWrite(putChange(table, t.key(1), c("v", 1)), failing, putChange(table, t.key(3), c("v", 3)))
		t.must(err)
		rows := answer.TableToRowsResult[table]
		t.equal("success by row", []bool{rows[0].IsSucceed, rows[1].IsSucceed, rows[2].IsSucceed}, []bool{true, false, true})
		t.equal("error", rows[1].Error, ts.Error{Code: conditionCode, Message: conditionText})
		t.check(present(t.get(table, t.key(1))), "the row before the failing one is absent")
		t.check(!present(t.get(table, t.key(2))), "the failing row was written")
		t.check(present(t.get(table, t.key(3))), "the row after the failing one is absent")
	})

	run(t, "a row with a wrong key fails alone", func(t *T) {
		table := t.shared(1)
		answer, err := t.batchWrite(putChange(table, t.key(1), c("v", 1)), putChange(table, pk("p", "x"), c("v", 2)))
		t.must(err)
		rows := answer.TableToRowsResult[table]
		t.check(rows[0].IsSucceed, "first row: %+v", rows[0].Error)
		t.equal("second row", rows[1].Error, ts.Error{Code: "OTSInvalidPK", Message: "Validate PK size fail. Input: 1, Meta: 2."})
	})

	run(t, "all rows failing is still an answer", func(t *T) {
		table := t.shared(1)
		failing := deleteChange(table, t.key(1))
		failing.SetCondition(exist)
		answer, err := t.batchWrite(failing)
		t.must(err)
		t.equal("error code", answer.TableToRowsResult[table][0].Error.Code, conditionCode)
	})

	run(t, "get with an absent row", func(t *T) {
		table := t.shared(1)
		t.put(table, t.key(1), c("v", 1))
		t.put(table, t.key(3), c("v", 3))
		answer, err := t.batchGet(multi(table, t.key(1), t.key(2), t.key(3)))
		t.must(err)
		rows := answer.TableToRowsResult[table]
		t.equal("number of results", len(rows), 3)
		for i, row := range rows {
			t.check(row.IsSucceed, "row %d: %+v", i, row.Error)
		}
		t.equal("first", cells(rows[0].Columns), pairs("v", 1))
		t.equal("key of the first", keyValues(&rows[0].PrimaryKey), values(t.name, 1))
		t.equal("absent row's key", len(rows[1].PrimaryKey.PrimaryKeys), 0)
		t.equal("third", cells(rows[2].Columns), pairs("v", 3))
	})

	run(t, "get over two tables, results in request order", func(t *T) {
		one, two := t.intTable(), t.intTable()
		for n := 1; n <= 3; n++ {
			t.put(one, pk("pk", n), c("v", n))
			t.put(two, pk("pk", n), c("v", n*10))
		}
		answer, err := t.batchGet(multi(one, pk("pk", 3), pk("pk", 1), pk("pk", 2)), multi(two, pk("pk", 2)))
		t.must(err)
		var got []any
		for _, row := range answer.TableToRowsResult[one] {
			got = append(got, row.Columns[0].Value)
		}
		t.equal("first table", got, values(3, 1, 2))
		t.equal("second table", answer.TableToRowsResult[two][0].Columns[0].Value, int64(20))
	})

	run(t, "get of a wrong key fails alone", func(t *T) {
		table := t.shared(1)
		t.put(table, t.key(1), c("v", 1))
		answer, err := t.batchGet(multi(table, t.key(1), pk("p", "x", "q", "text")))
		t.must(err)
		rows := answer.TableToRowsResult[table]
		t.check(rows[0].IsSucceed, "first row: %+v", rows[0].Error)
		t.equal("second row", rows[1].Error, ts.Error{Code: "OTSInvalidPK", Message: "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER."})
	})

	run(t, "get with columns, versions and filter", func(t *T) {
		table := t.shared(5)
		for n := 1; n <= 2; n++ {
			now := nowMillis()
			t.put(table, t.key(n), cAt("a", n, now-1), cAt("a", n*10, now), c("b", n))
		}
		criteria := multi(table, t.key(1), t.key(2))
		criteria.MaxVersion = 2
		criteria.ColumnsToGet = []string{"a"}
		criteria.Filter = single("a", ts.CT_EQUAL, 20)
		answer, err := t.batchGet(criteria)
		t.must(err)
		rows := answer.TableToRowsResult[table]
		t.equal("filtered row is empty", len(rows[0].PrimaryKey.PrimaryKeys), 0)
		t.equal("row that passes", cells(rows[1].Columns), pairs("a", 20, "a", 2))
	})
}
