package compat

import (
	"strings"
	"testing"
	"time"

	"github.com/aliyun/aliyun-tablestore-go-sdk/common"
	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
	"github.com/aliyun/aliyun-tablestore-go-sdk/tablestore/search"
)

var tableCallNames = []string{"GetRow", "PutRow", "UpdateRow", "DeleteRow", "GetRange",
	"DescribeTable", "UpdateTable", "DeleteTable", "ComputeSplitPointsBySize"}

// tableCalls are the calls that name one table, for an error that all of them share.
func tableCalls(t *T, table string) map[string]func() error {
	key := t.key(0)
	return map[string]func() error{
		"GetRow":    func() error { _, err := t.getRow(query(table, key)); return err },
		"PutRow":    func() error { return t.write("put", table, key, ignore, nil) },
		"UpdateRow": func() error { return t.write("update", table, key, ignore, nil) },
		"DeleteRow": func() error { return t.write("delete", table, key, ignore, nil) },
		"GetRange": func() error {
			_, err := t.getRange(rangeQuery(table, pk("p", infMin, "q", infMin), pk("p", infMax, "q", infMax)))
			return err
		},
		"DescribeTable": func() error {
			_, err := t.client.DescribeTable(&ts.DescribeTableRequest{TableName: table})
			return err
		},
		"UpdateTable": func() error {
			_, err := t.client.UpdateTable(&ts.UpdateTableRequest{TableName: table, TableOption: ts.NewTableOption(-1, 2)})
			return err
		},
		"DeleteTable": func() error {
			_, err := t.client.DeleteTable(&ts.DeleteTableRequest{TableName: table})
			return err
		},
		"ComputeSplitPointsBySize": func() error {
			_, err := t.client.ComputeSplitPointsBySize(&ts.ComputeSplitPointsBySizeRequest{TableName: table, SplitSize: 1})
			return err
		},
	}
}

func v4Client(secret string) *ts.TableStoreClient {
	credentials := &common.DefaultCredentials{AccessKeyID: settings.id, AccessKeySecret: secret}
	provider := common.CreateByCredentials(credentials, "cn-hangzhou")
	return ts.NewClientWithCredentialsProvider(settings.endpoint, settings.instance, provider, config())
}

func TestError(t *testing.T) {
	for _, operation := range tableCallNames {
		run(t, ""+operation+" of a missing table", func(t *T) {
			err := tableCalls(t, uniqueName())[operation]()
			if strings.HasPrefix(operation, "Get") { // what programs look for before they make the table
				t.wantError(err, 400, "OTSParameterInvalid", "Requested table does not exist (table not exist).")
				return
			}
			t.wantError(err, 404, "OTSObjectNotExist", "Requested table does not exist.")
		})
	}

	run(t, "a batch on a missing table", func(t *T) {
		// Sources disagree whether the request or each row of a write fails; the code is the same.
		table := uniqueName()
		wrote, err := t.batchWrite(putChange(table, t.key(0), c("v", 1)))
		if err != nil {
			t.refused(err, 404, "OTSObjectNotExist")
		} else {
			t.equal("row error", wrote.TableToRowsResult[table][0].Error.Code, "OTSObjectNotExist")
		}
		_, err = t.batchGet(multi(table, t.key(0)))
		t.wantError(err, 400, "OTSParameterInvalid", "Requested table does not exist (table not exist).")
	})

	run(t, "wrong secret", func(t *T) {
		_, err := newClient(settings.id, settings.secret+"x").ListTable()
		t.refused(err, 403, "OTSAuthFailed")
	})

	run(t, "unknown access key", func(t *T) {
		_, err := newClient("nobody", settings.secret).ListTable()
		t.refused(err, 403, "OTSAuthFailed")
	})

	run(t, "wrong secret with a body", func(t *T) {
		client := newClient(settings.id, "wrong")
		_, err := client.PutRow(&ts.PutRowRequest{PutRowChange: putChange(t.shared(1), t.key(0), c("v", 1))})
		t.refused(err, 403, "OTSAuthFailed")
		t.check(!present(t.get(t.shared(1), t.key(0))), "an unsigned write was applied")
	})

	run(t, "signature: V4 credentials", func(t *T) {
		client := v4Client(settings.secret)
		_, err := client.PutRow(&ts.PutRowRequest{PutRowChange: putChange(t.shared(1), t.key(0), c("v", "v4"))})
		t.must(err)
		answer, err := client.GetRow(&ts.GetRowRequest{SingleRowQueryCriteria: query(t.shared(1), t.key(0))})
		t.must(err)
		t.wantCells("columns", answer, "v", "v4")
	})

	run(t, "signature: V4 credentials with a wrong secret", func(t *T) {
		_, err := v4Client("wrong").ListTable()
		t.refused(err, 403, "OTSAuthFailed")
	})

	run(t, "signature: extra x-ots headers are signed", func(t *T) {
		request := &ts.GetRowRequest{SingleRowQueryCriteria: query(t.shared(1), t.key(0))}
		request.SetTraceID("trace-of-" + runID)
		extension := ts.RequestExtension{}
		extension.SetTag("a tag with  spaces")
		extension.SetPriority(ts.HIGH)
		request.SetRequestExtension(extension)
		_, err := t.client.GetRow(request)
		t.must(err)
	})

	run(t, "key of the wrong type", func(t *T) {
		_, err := t.getRow(query(t.shared(1), pk("p", t.name, "q", "text")))
		t.wantError(err, 400, "OTSInvalidPK", "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.")
		_, err = t.putRow(putChange(t.shared(1), pk("p", []byte("blob"), "q", 1)))
		t.wantError(err, 400, "OTSInvalidPK", "Validate PK type fail. Input: VT_BLOB, Meta: VT_STRING.")
	})

	run(t, "key of the wrong size", func(t *T) {
		_, err := t.getRow(query(t.shared(1), pk("p", t.name)))
		t.wantError(err, 400, "OTSInvalidPK", "Validate PK size fail. Input: 1, Meta: 2.")
		_, err = t.deleteRow(deleteChange(t.shared(1), pk("p", t.name, "q", 1, "extra", 1)))
		t.wantError(err, 400, "OTSInvalidPK", "Validate PK size fail. Input: 3, Meta: 2.")
	})

	run(t, "key of the wrong name or order", func(t *T) {
		_, err := t.getRow(query(t.shared(1), pk("p", t.name, "other", 1)))
		t.wantError(err, 400, "OTSInvalidPK", "Validate PK name fail. Input: other, Meta: q.")
		_, err = t.putRow(putChange(t.shared(1), pk("q", 1, "p", t.name)))
		t.wantError(err, 400, "OTSInvalidPK", "Validate PK name fail. Input: q, Meta: p.")
	})

	run(t, "a refused request carries a request id", func(t *T) {
		_, err := t.getRow(query(uniqueName(), t.key(0)))
		t.equal("length of the request id", len(t.refused(err, 400, "OTSParameterInvalid").RequestId), 36)
		t.equal("length of the request id of a success", len(t.get(t.shared(1), t.key(0)).RequestId), 36)
	})

	run(t, "a search names an index that is not there", func(t *T) {
		start := time.Now()
		request := &ts.SearchRequest{TableName: t.shared(1), IndexName: "none"}
		request.SearchQuery = search.NewSearchQuery().SetQuery(&search.MatchAllQuery{})
		_, err := t.client.Search(request)
		refusal, answered := err.(*ts.OtsError)
		t.check(answered, "expected an error of the server\n  actual   %v", err)
		t.check(strings.Contains(refusal.Message, "search index [none] does not exist"), "the message does not name the index: %q", refusal.Message)
		t.check(time.Since(start) < 5*time.Second, "the answer took %v", time.Since(start))
	})

	run(t, "empty lists: search indexes and time-series tables", func(t *T) {
		indexes, err := t.client.ListSearchIndex(&ts.ListSearchIndexRequest{TableName: t.shared(1)})
		t.must(err)
		t.equal("search indexes", len(indexes.IndexInfo), 0)
		series := ts.NewTimeseriesClientWithConfig(settings.endpoint, settings.instance, settings.id, settings.secret, "", config(), nil)
		tables, err := series.ListTimeseriesTable()
		t.must(err)
		t.equal("time-series tables", len(tables.GetTimeseriesTableMeta()), 0)
	})
}
