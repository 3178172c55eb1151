// Go's MySQL driver against the SQL port: the documented statements, as texts and prepared; types, many rows, contexts.
package sqlcases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

func open(t *testing.T, more string) *sql.DB {
	db, err := sql.Open("mysql", "key1:secret1@tcp(127.0.0.1:"+os.Getenv("PORT")+")/inst?"+more)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// What a statement came to, as statements.txt has it; rows only if it has some.
func outcome(c *sql.Conn, statement string, prepared, rows bool) string {
	ctx := context.Background()
	run := func(q string) (*sql.Rows, sql.Result, error) {
		if rows {
			r, err := c.QueryContext(ctx, q)
			return r, nil, err
		}
		r, err := c.ExecContext(ctx, q)
		return nil, r, err
	}
	if prepared {
		s, err := c.PrepareContext(ctx, statement)
		if err != nil {
			return number(err)
		}
		defer s.Close()
		run = func(string) (*sql.Rows, sql.Result, error) {
			if rows {
				r, err := s.QueryContext(ctx)
				return r, nil, err
			}
			r, err := s.ExecContext(ctx)
			return nil, r, err
		}
	}
	r, changed, err := run(statement)
	if err != nil {
		return number(err)
	}
	if !rows {
		n, _ := changed.RowsAffected()
		return fmt.Sprintf("+ %d", n)
	}
	defer r.Close()
	names, _ := r.Columns()
	var lines []string
	for r.Next() {
		values, to := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		if err := r.Scan(to...); err != nil {
			return err.Error()
		}
		var texts []string
		for _, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			texts = append(texts, v.String)
		}
		lines = append(lines, strings.Join(texts, ","))
	}
	if r.Err() != nil {
		return number(r.Err())
	}
	return "= " + strings.Join(lines, "|")
}

func number(err error) string {
	var fault *mysql.MySQLError
	if errors.As(err, &fault) {
		return fmt.Sprintf("! %d", fault.Number)
	}
	return err.Error()
}

func testStatements(t *testing.T, prepared bool) {
	text, err := os.ReadFile("../statements.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := open(t, "").Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, "#") || strings.ContainsAny(line[:1], "=+!") {
			continue
		}
		expected := ""
		if i+1 < len(lines) && lines[i+1] != "" && strings.ContainsAny(lines[i+1][:1], "=+!") {
			expected = lines[i+1]
		}
		was := outcome(c, line, prepared, strings.HasPrefix(expected, "="))
		if was != expected && !(expected == "" && strings.HasPrefix(was, "+")) {
			t.Errorf("%s\n  expected %q\n  was      %q", line, expected, was)
		}
	}
}

func TestStatementsAsTexts(t *testing.T)   { testStatements(t, false) }
func TestStatementsPrepared(t *testing.T) { testStatements(t, true) }

func TestTypes(t *testing.T) {
	for _, more := range []string{"parseTime=true", "parseTime=true&interpolateParams=true"} {
		db := open(t, more)
		for _, q := range []string{"drop table if exists gotypes", "create table gotypes (k varchar, n bigint, d double, b varbinary, at timestamp, " +
			"day date, f boolean, u bigint unsigned, x decimal(10,2), primary key (k, n))"} {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Date(2024, 2, 29, 3, 4, 5, 678e6, time.UTC)
		if _, err := db.Exec("insert into gotypes (k, n, d, b, at, day, f, u, x) values (?, ?, ?, ?, ?, ?, ?, ?, ?)", "it's \\ grüß", int64(1)<<62, -1.5,
			[]byte{0, 255, '\''}, at, at, true, uint64(1<<63)+7, "12.25"); err != nil {
			t.Fatal(err)
		}
		var k, x string
		var n int64
		var d float64
		var b []byte
		var stamp, day time.Time
		var f bool
		var u uint64
		if err := db.QueryRow("select * from gotypes where k = ?", "it's \\ grüß").Scan(&k, &n, &d, &b, &stamp, &day, &f, &u, &x); err != nil {
			t.Fatal(err)
		}
		if n != 1<<62 || d != -1.5 || string(b) != "\x00\xff'" || !stamp.Equal(at) || day.Day() != 29 || !f || u != 1<<63+7 || x != "12.25" {
			t.Errorf("%s: %v %v %v %v %v %v %v %v %v", more, k, n, d, b, stamp, day, f, u, x)
		}
		db.Exec("drop table gotypes")
	}
}

func TestManyRowsAndConnections(t *testing.T) {
	db := open(t, "")
	db.SetMaxOpenConns(10)
	if _, err := db.Exec("create table gorows (k varchar, n bigint, v varchar, primary key (k, n))"); err != nil {
		t.Fatal(err)
	}
	defer db.Exec("drop table gorows")
	done := make(chan error, 10)
	for i := 0; i < 10; i++ {
		go func(i int) {
			for n := 0; n < 100; n++ {
				if _, err := db.Exec("insert into gorows (k, n, v) values (?, ?, ?)", fmt.Sprint("k", i), n, strings.Repeat("x", 100)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}(i)
	}
	for i := 0; i < 10; i++ {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.Query("select n from gorows where k >= ? and k < ?", "k3", "k5")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	count := 0
	for ; rows.Next(); count++ {
	}
	if count != 200 || rows.Err() != nil {
		t.Error(count, rows.Err())
	}
}

func TestTransactions(t *testing.T) {
	db := open(t, "")
	if _, err := db.Exec("create table gobank (k varchar, v bigint, primary key (k)) with (transactions = 'true')"); err != nil {
		t.Fatal(err)
	}
	defer db.Exec("drop table gobank")
	for i, commits := range []bool{false, true} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tx.Exec("upsert into gobank (k, v) values (?, ?)", "ann", 1); err != nil {
			t.Fatal(err)
		}
		if _, err = tx.Exec("upsert into gobank (k, v) values (?, ?)", "bob", 1); err == nil {
			t.Error("rows of two values")
		}
		if commits {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
		var count int
		if err = db.QueryRow("select count(*) from gobank").Scan(&count); err != nil || count != i {
			t.Error(count, err)
		}
	}
}

func TestContextEndsAStatement(t *testing.T) {
	db := open(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := db.QueryContext(ctx, "select 1"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
}
