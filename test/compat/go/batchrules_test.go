package compat

import (
	"fmt"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// sized makes one row change whose counted size is exactly size bytes: "pk" 2 + 8, "v" 1, value.
func sized(table string, n, size int) ts.RowChange {
	return putChange(table, pk("pk", n), c("v", repeat('x', size-11)))
}

func (t *T) atomic(changes ...ts.RowChange) *ts.BatchWriteRowResponse {
	request := &ts.BatchWriteRowRequest{IsAtomic: true}
	for _, change := range changes {
		request.AddRowChange(change)
	}
	answer, err := t.client.BatchWriteRow(request)
	t.must(err)
	return answer
}

func TestBatchRule(t *testing.T) {
	run(t, "one key many times, in order", func(t *T) {
		table := t.shared(1)
		var changes []ts.RowChange
		for n := 0; n < 5; n++ {
			update := updateChange(table, t.key(0))
			update.PutColumn(fmt.Sprintf("u%d", n), int64(n))
			changes = append(changes, putChange(table, t.key(0), c("v", n)), update)
		}
		answer, err := t.batchWrite(changes...)
		t.must(err)
		for _, row := range answer.TableToRowsResult[table] {
			t.check(row.IsSucceed, "row %d: %+v", row.Index, row.Error)
		}
		t.wantCells("last put and update", t.get(table, t.key(0)), "u4", 4, "v", 4)
	})

	run(t, "delete and put of one key, in order", func(t *T) {
		table := t.shared(1)
		t.put(table, t.key(0), c("v", "old"))
		_, err := t.batchWrite(deleteChange(table, t.key(0)), putChange(table, t.key(0), c("w", "new")),
			putChange(table, t.key(1), c("v", 1)), deleteChange(table, t.key(1)))
		t.must(err)
		t.wantCells("deleted, then put", t.get(table, t.key(0)), "w", "new")
		t.check(!present(t.get(table, t.key(1))), "a row put, then deleted, is there")
	})

	run(t, "200 rows are written, 201 are refused", func(t *T) {
		table := t.shared(1)
		var changes []ts.RowChange
		for n := 0; n < 201; n++ {
			changes = append(changes, putChange(table, t.key(n), c("v", n)))
		}
		_, err := t.batchWrite(changes...)
		t.wantInvalid(err, "Rows count exceeds the upper limit: 200.")
		t.check(!present(t.get(table, t.key(0))), "a refused batch was written")
		answer, err := t.batchWrite(changes[:200]...)
		t.must(err)
		t.equal("rows", len(answer.TableToRowsResult[table]), 200)
		t.wantCells("last row", t.get(table, t.key(199)), "v", 199)
	})

	run(t, "100 rows are read, 101 are refused", func(t *T) {
		table := t.shared(1)
		var keys []*ts.PrimaryKey
		for n := 0; n < 101; n++ {
			keys = append(keys, t.key(n))
		}
		_, err := t.batchGet(multi(table, keys...))
		t.wantInvalid(err, "Rows count exceeds the upper limit: 100.")
		answer, err := t.batchGet(multi(table, keys[:100]...))
		t.must(err)
		t.equal("rows", len(answer.TableToRowsResult[table]), 100)
	})

	run(t, "one key read twice answers twice", func(t *T) {
		table := t.shared(1)
		t.put(table, t.key(0), c("v", 1))
		answer, err := t.batchGet(multi(table, t.key(0), t.key(0)))
		t.must(err)
		for _, row := range answer.TableToRowsResult[table] {
			t.equal("row", cells(row.Columns), pairs("v", 1))
		}
	})

	run(t, "empty requests", func(t *T) {
		_, err := t.batchWrite()
		t.wantInvalid(err, "No row is specified in BatchWriteRow.")
		_, err = t.batchGet()
		t.wantInvalid(err, "No row specified in the request of BatchGetRow.")
		table := t.shared(1)
		_, err = t.client.BatchWriteRow(&ts.BatchWriteRowRequest{RowChangesGroupByTable: map[string][]ts.RowChange{table: nil}})
		t.wantInvalid(err, "No operation is specified for table: '"+table+"'.")
	})

	run(t, "4 MiB of data are written, one byte more is refused", func(t *T) {
		table := t.intTable()
		mib := 1 << 20
		_, err := t.batchWrite(sized(table, 1, mib), sized(table, 2, mib), sized(table, 3, mib), sized(table, 4, mib+1))
		t.wantInvalid(err, "The total data size of BatchWriteRow request exceeds the limit, limit size: 4194304, data size: 4194305.")
		answer, err := t.batchWrite(sized(table, 1, mib), sized(table, 2, mib), sized(table, 3, mib), sized(table, 4, mib))
		t.must(err)
		for _, row := range answer.TableToRowsResult[table] {
			t.check(row.IsSucceed, "row %d: %+v", row.Index, row.Error)
		}
	})

	run(t, "an oversize value refuses the whole request", func(t *T) {
		table := t.shared(1)
		_, err := t.batchWrite(putChange(table, t.key(0), c("v", 1)), putChange(table, t.key(1), c("v", repeat('x', 2097153))))
		t.wantInvalid(err, "The length of attribute column: 'v' exceeds the MaxLength:2097152 with CurrentLength:2097153.")
		t.check(!present(t.get(table, t.key(0))), "a row of the refused batch was written")
	})

	run(t, "infinities are no keys", func(t *T) {
		table := t.shared(1)
		for value, text := range map[marker]string{infMin: "VT_INF_MIN", infMax: "VT_INF_MAX"} {
			key, message := pk("p", t.name, "q", value), text+" is an invalid type for the primary key."
			// In written keys this SDK sends every placeholder as the auto-increment one, so only reads can show it.
			_, err := t.getRow(query(table, key))
			t.wantInvalid(err, message)
			_, err = t.batchGet(multi(table, t.key(0), key))
			t.wantInvalid(err, message)
		}
	})

	run(t, "atomic: all rows of one partition key", func(t *T) {
		table := t.shared(1)
		answer := t.atomic(putChange(table, t.key(1), c("v", 1)), putChange(table, t.key(2), c("v", 2)))
		for _, row := range answer.TableToRowsResult[table] {
			t.check(row.IsSucceed, "row %d: %+v", row.Index, row.Error)
		}
		t.wantCells("second", t.get(table, t.key(2)), "v", 2)
	})

	run(t, "atomic: two partition keys fail every row", func(t *T) {
		table := t.intTable()
		answer := t.atomic(putChange(table, pk("pk", 0), c("v", 1)), putChange(table, pk("pk", 1), c("v", 1)))
		rows := answer.TableToRowsResult[table]
		t.equal("rows", len(rows), 2)
		for _, row := range rows {
			t.equal("error", row.Error, ts.Error{Code: "OTSDataOutOfRange",
				Message: "Data out of scope of atomic. Atomic PartKey:0. Data PartKey:1"})
		}
		t.check(!present(t.get(table, pk("pk", 0))), "a row was written")
	})

	run(t, "atomic: one failing condition fails every row", func(t *T) {
		table := t.shared(1)
		failing := putChange(table, t.key(2), c("v", 2))
		failing.SetCondition(exist)
		answer := t.atomic(putChange(table, t.key(1), c("v", 1)), failing)
		for _, row := range answer.TableToRowsResult[table] {
			t.check(!row.IsSucceed, "row %d succeeded", row.Index)
		}
		t.check(!present(t.get(table, t.key(1))), "a row was written")
	})
}

func TestRangeError(t *testing.T) {
	run(t, "limit below 1", func(t *T) {
		// The SDK leaves a limit of 0 out, so a negative one stands for both.
		criteria := everyRow(t.intTable())
		criteria.Limit = -1
		_, err := t.getRange(criteria)
		t.wantInvalid(err, "The limit must be greater than 0.")
	})

	run(t, "equal or reversed bounds", func(t *T) {
		table := t.intTable()
		for _, end := range []int{5, 4} {
			_, err := t.getRange(rangeQuery(table, pk("pk", 5), pk("pk", end)))
			t.wantInvalid(err, "Begin key must less than end key in FORWARD")
		}
		for _, end := range []int{5, 6} {
			criteria := rangeQuery(table, pk("pk", 5), pk("pk", end))
			criteria.Direction = ts.BACKWARD
			_, err := t.getRange(criteria)
			t.wantInvalid(err, "Begin key must more than end key in BACKWARD")
		}
	})

	run(t, "bounds that do not fit the key", func(t *T) {
		table := t.intTable()
		_, err := t.getRange(rangeQuery(table, pk("pk", "text"), pk("pk", infMax)))
		t.wantError(err, 400, "OTSInvalidPK", "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.")
		_, err = t.getRange(rangeQuery(table, pk("other", infMin), pk("other", infMax)))
		t.wantError(err, 400, "OTSInvalidPK", "Validate PK name fail. Input: other, Meta: pk.")
	})
}
