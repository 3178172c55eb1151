package compat

import (
	"os"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

const (
	conflict   = "OTSRowOperationConflict"
	noSession  = "OTSSessionNotExist"
	beingMod   = "Data is being modified by the other request."
	sessionEnd = "Session not exist or may be timeout."
)

// orders makes a table with transactions and the key user, line.
func (t *T) orders() string {
	request := createRequest(uniqueName(), 1, keyColumn{"user", text, false}, keyColumn{"line", integer, false})
	on := true
	request.EnableLocalTxn = &on
	return t.create(request)
}

func (t *T) begin(table, user string) *string {
	t.Helper()
	answer, err := t.client.StartLocalTransaction(&ts.StartLocalTransactionRequest{TableName: table, PrimaryKey: pk("user", user)})
	t.must(err)
	return answer.TransactionId
}

func (t *T) commit(id *string) error {
	_, err := t.client.CommitTransaction(&ts.CommitTransactionRequest{TransactionId: id})
	return err
}

func (t *T) abort(id *string) error {
	_, err := t.client.AbortTransaction(&ts.AbortTransactionRequest{TransactionId: id})
	return err
}

func (t *T) putIn(id *string, table string, key *ts.PrimaryKey, columns ...col) error {
	change := putChange(table, key, columns...)
	change.TransactionId = id
	_, err := t.putRow(change)
	return err
}

func (t *T) getIn(id *string, table string, key *ts.PrimaryKey) *ts.GetRowResponse {
	criteria := query(table, key)
	criteria.TransactionId = id
	return t.getBy(criteria)
}

func line(user string, n int) *ts.PrimaryKey { return pk("user", user, "line", n) }

func TestTransaction(t *testing.T) {
	if os.Getenv("WIDEROW_NO_TRANSACTIONS") != "" {
		t.Skip("the server has no transactions")
	}
	run(t, "a transaction is seen inside before its commit, outside behind it", func(t *T) {
		table := t.orders()
		t.put(table, line("ann", 1), c("n", 1))
		id := t.begin(table, "ann")
		t.must(t.putIn(id, table, line("ann", 2), c("n", 2)))
		update := &ts.UpdateRowChange{TableName: table, PrimaryKey: line("ann", 1), TransactionId: id}
		update.SetCondition(ignore)
		update.PutColumn("n", int64(10))
		t.update(update)
		t.wantCells("inside", t.getIn(id, table, line("ann", 1)), "n", 10)
		t.wantCells("inside", t.getIn(id, table, line("ann", 2)), "n", 2)
		t.wantCells("outside", t.get(table, line("ann", 1)), "n", 1)
		t.check(!present(t.get(table, line("ann", 2))), "a row of an open transaction is seen outside")
		t.must(t.commit(id))
		t.wantCells("committed", t.get(table, line("ann", 1)), "n", 10)
		t.wantCells("committed", t.get(table, line("ann", 2)), "n", 2)
		t.wantError(t.commit(id), 403, noSession, sessionEnd)
	})

	run(t, "a range inside a transaction has its changes", func(t *T) {
		table := t.orders()
		t.put(table, line("ann", 1))
		t.put(table, line("ann", 3))
		id := t.begin(table, "ann")
		t.must(t.putIn(id, table, line("ann", 2)))
		change := deleteChange(table, line("ann", 3))
		change.TransactionId = id
		_, err := t.deleteRow(change)
		t.must(err)
		criteria := rangeQuery(table, pk("user", "ann", "line", infMin), pk("user", "ann", "line", infMax))
		criteria.TransactionId = id
		inside, _ := t.readAll(criteria)
		t.equal("rows inside", len(inside), 2)
		outside, _ := t.readAll(rangeQuery(table, pk("user", "ann", "line", infMin), pk("user", "ann", "line", infMax)))
		t.equal("rows outside", len(outside), 2)
		t.equal("the second inside", inside[1].PrimaryKey.PrimaryKeys[1].Value, int64(2))
		t.equal("the second outside", outside[1].PrimaryKey.PrimaryKeys[1].Value, int64(3))
		t.must(t.abort(id))
	})

	run(t, "an aborted transaction leaves nothing, and frees its value", func(t *T) {
		table := t.orders()
		id := t.begin(table, "ann")
		t.must(t.putIn(id, table, line("ann", 1)))
		t.must(t.abort(id))
		t.check(!present(t.get(table, line("ann", 1))), "a row of an aborted transaction is there")
		t.put(table, line("ann", 1))
		t.wantError(t.abort(id), 403, noSession, sessionEnd)
	})

	run(t, "an open transaction keeps others' writes of its value away, and no more", func(t *T) {
		table := t.orders()
		id := t.begin(table, "ann")
		_, err := t.putRow(putChange(table, line("ann", 1)))
		t.wantError(err, 409, conflict, beingMod)
		_, err = t.client.StartLocalTransaction(&ts.StartLocalTransactionRequest{TableName: table, PrimaryKey: pk("user", "ann")})
		t.wantError(err, 409, conflict, beingMod)
		t.put(table, line("bob", 1))
		t.refused(t.putIn(id, table, line("bob", 1)), 400, "OTSDataOutOfRange")
		t.must(t.commit(id))
	})

	run(t, "starts that are refused", func(t *T) {
		table := t.orders()
		_, err := t.client.StartLocalTransaction(&ts.StartLocalTransactionRequest{TableName: table, PrimaryKey: line("ann", 1)})
		t.wantInvalid(err, "StartLocalTransaction support only one primary key.")
		_, err = t.client.StartLocalTransaction(&ts.StartLocalTransactionRequest{TableName: t.intTable(), PrimaryKey: pk("pk", 1)})
		t.wantInvalid(err, "Try to call method using explicit transaction on explicit-transaction-disabled table.")
		fake := "fake_transaction_id"
		t.wantInvalid(t.commit(&fake), "TransactionID is invalid.")
	})
}
