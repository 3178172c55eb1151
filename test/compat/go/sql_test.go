package compat

import (
	"fmt"
	"strings"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func (t *T) sql(format string, args ...any) (*ts.SQLQueryResponse, error) {
	return t.client.SQLQuery(&ts.SQLQueryRequest{Query: fmt.Sprintf(format, args...)})
}

// sqlText is the answer's rows, a line each.
func (t *T) sqlText(format string, args ...any) string {
	answer, err := t.sql(format, args...)
	t.must(err)
	var out strings.Builder
	for answer.ResultSet.HasNext() {
		out.WriteString(answer.ResultSet.Next().DebugString() + "\n")
	}
	return out.String()
}

// sqlTable has four rows, of which two of each age, and a mapping.
func (t *T) sqlTable() string {
	name := t.table(keyColumn{"id", text, false}, keyColumn{"n", integer, false})
	for i := 0; i < 4; i++ {
		t.put(name, pk("id", "a", "n", i), c("age", int64(i%2)), c("grade", 4.5+float64(i)), c("word", fmt.Sprint("w", i)),
			c("ok", i > 1), c("bin", []byte{byte(i)}))
	}
	answer, err := t.sql("create table %s (id varchar(1024), n bigint, age bigint, grade double, word mediumtext, ok bool, bin mediumblob, primary key(id, n))", name)
	t.must(err)
	t.equal("no rows", answer.ResultSet == nil, true)
	return name
}

func TestSql(t *testing.T) {
	run(t, "select has the types of the mapping", func(t *T) {
		name := t.sqlTable()
		answer, err := t.sql("select * from %s where n >= 2 limit 1", name)
		t.must(err)
		t.equal("type", answer.StmtType, ts.SQL_SELECT)
		t.equal("columns", fmt.Sprint(answer.ResultSet.Columns()), fmt.Sprintf("[id:%v n:%v age:%v grade:%v word:%v ok:%v bin:%v]", ts.ColumnType_STRING, ts.ColumnType_INTEGER, ts.ColumnType_INTEGER, ts.ColumnType_DOUBLE, ts.ColumnType_STRING, ts.ColumnType_BOOLEAN, ts.ColumnType_BINARY))
		row := answer.ResultSet.Next()
		grade, err := row.GetFloat64ByName("grade")
		t.must(err)
		t.equal("grade", grade, 6.5)
		bin, err := row.GetBytesByName("bin")
		t.must(err)
		t.equal("bin", bin[0], byte(2))
		t.equal("one table", len(answer.SQLQueryConsumed.TableConsumes), 1)
		t.equal("its name", answer.SQLQueryConsumed.TableConsumes[0].TableName, name)
		t.equal("capacity", answer.SQLQueryConsumed.TableConsumes[0].ConsumedCapacityUnit.Read > 0, true)
	})

	run(t, "moments are DATETIME, TIME and DATE", func(t *T) {
		answer, err := t.sql("select from_unixtime(1668585138.995), timediff(from_unixtime(1668585138.995),from_unixtime(1668585013.712)), date(from_unixtime(1668585138.995))")
		t.must(err)
		row := answer.ResultSet.Next()
		datetime, err := row.GetDateTime(0)
		t.must(err)
		t.equal("datetime", datetime.UnixMicro(), int64(1668585138995000))
		diff, err := row.GetTime(1)
		t.must(err)
		t.equal("time", diff.Nanoseconds(), int64(125283000000))
		date, err := row.GetDate(2)
		t.must(err)
		t.equal("date", date.Unix(), int64(1668556800))
	})

	run(t, "a mapping changes and goes, the table stays", func(t *T) {
		name := t.sqlTable()
		for _, statement := range []string{"alter table %s add column more bigint", "alter table %s drop more", "drop mapping table %s"} {
			answer, err := t.sql(statement, name)
			t.must(err)
			t.equal(statement, answer.ResultSet == nil, true)
		}
		answer, err := t.sql("describe %s", name)
		t.must(err)
		t.equal("type", answer.StmtType, ts.SQL_DESCRIBE_TABLE)
		t.equal("its key is left", strings.Count(t.sqlText("desc %s", name), "\n"), 2)
		t.wantCells("the row", t.get(name, pk("id", "a", "n", 0)), "age", 0, "bin", []byte{0}, "grade", 4.5, "ok", false, "word", "w0")
	})

	run(t, "what is wrong is said", func(t *T) {
		_, err := t.sql("select nothing from %s", t.sqlTable())
		t.wantInvalid(err, "Unknown column 'nothing' in 'field list'")
		_, err = t.sql("select * from nothing")
		t.wantInvalid(err, "Table '"+settings.instance+".nothing' doesn't exist")
		_, err = t.sql("delete from nothing")
		t.check(err != nil, "expected a refusal")
	})
}
