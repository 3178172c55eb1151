package compat

import (
	"fmt"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

func TestCreateError(t *testing.T) {
	key := keyColumn{"pk", integer, false}

	run(t, "create: a key name given twice", func(t *T) {
		err := t.createError(createRequest(uniqueName(), 1, keyColumn{"PK0", integer, false}, keyColumn{"PK0", text, false}))
		t.wantInvalid(err, "Duplicated primary key name: 'PK0'.")
	})

	run(t, "create: four key columns are allowed, five are not", func(t *T) {
		var columns []keyColumn
		for n := 0; n < 5; n++ {
			columns = append(columns, keyColumn{fmt.Sprintf("k%d", n), integer, false})
		}
		t.table(columns[:4]...)
		t.wantInvalid(t.createError(createRequest(uniqueName(), 1, columns...)),
			"The number of primary key columns must be in range: [1, 4].")
	})

	run(t, "create: bad table names", func(t *T) {
		for _, name := range []string{"0", "#", "中文", "T#", "T中文", "3t", "-"} {
			_, err := t.client.CreateTable(createRequest(name, 1, key))
			t.wantInvalid(err, "Invalid table name: '"+name+"'.")
		}
	})

	for _, operation := range tableCallNames {
		run(t, "create: bad table name in "+operation, func(t *T) {
			t.wantInvalid(tableCalls(t, "3t")[operation](), "Invalid table name: '3t'.")
		})
	}

	run(t, "create: odd but good table names", func(t *T) {
		for _, name := range []string{"_0", "_T", "A0", "table"} {
			t.create(createRequest(name+"_"+uniqueName(), 1, key))
		}
	})

	run(t, "create: 32 defined columns are allowed, 33 are not", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		for n := 0; n < 32; n++ {
			request.TableMeta.AddDefinedColumn(fmt.Sprintf("d%d", n), ts.DefinedColumn_INTEGER)
		}
		t.create(request)
		request.TableMeta.TableName = uniqueName()
		request.TableMeta.AddDefinedColumn("d32", ts.DefinedColumn_INTEGER)
		t.wantInvalid(t.createError(request), "The number of defined columns must be in range: [0, 32].")
	})

	run(t, "create: time to live 0", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		request.TableOption.TimeToAlive = 0
		t.wantInvalid(t.createError(request), "TimeToLive cannot be 0 or less than -1.")
	})

	run(t, "create: max versions 0", func(t *T) {
		t.wantInvalid(t.createError(createRequest(uniqueName(), 0, key)), "The maximum versions cannot be less than or equal to 0")
	})

	run(t, "create: the largest time to live", func(t *T) {
		request := createRequest(uniqueName(), 1, key)
		request.TableOption.TimeToAlive = 2147483647
		t.equal("TTL", t.describe(t.create(request)).TableOption.TimeToAlive, 2147483647)
	})
}
