package main

import (
	"flag"
	"fmt"
	"strings"
	"time"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// settings come from the environment; cases that need another client build it from these.
var settings struct{ endpoint, instance, id, secret string }

func main() {
	only := flag.String("run", "", "run only the cases whose name contains this")
	flag.Parse()

	// The SDK appends "/Operation", so a trailing slash would double it.
	settings.endpoint = strings.TrimRight(env("WIDEROW_ENDPOINT"), "/")
	settings.instance = env("WIDEROW_INSTANCE")
	settings.id = env("WIDEROW_ACCESS_KEY_ID")
	settings.secret = env("WIDEROW_ACCESS_KEY_SECRET")

	if err := reach(); err != nil {
		fmt.Printf("FAIL cannot reach the server at %s\n  %v\n", settings.endpoint, err)
		finish(0, 1)
	}

	s := &suite{}
	tier1(s)
	tier2(s)
	client := newClient(settings.id, settings.secret)
	passed, failed := s.runAll(client, *only)
	dropShared(client)
	finish(passed, failed)
}

func tier1(s *suite) {
	tableCases(s)
	valueCases(s)
	rowCases(s)
	conditionCases(s)
	batchCases(s)
	rangeCases(s)
	capacityCases(s)
	errorCases(s)
}

func tier2(s *suite) {
	versionCases(s)
	filterCases(s)
	columnCases(s)
	counterCases(s)
	autoIncrementCases(s)
	batchRuleCases(s)
	rangeErrorCases(s)
	createErrorCases(s)
	optionCases(s)
	nameCases(s)
	limitCases(s)
	splitCases(s)
}

// config retries little: a healthy local server never needs it, and a sick one should fail fast.
func config(retries uint) *ts.TableStoreConfig {
	c := ts.NewDefaultTableStoreConfig()
	c.RetryTimes = retries
	c.MaxRetryTime = 2 * time.Second
	c.HTTPTimeout.ConnectionTimeout = 2 * time.Second
	c.HTTPTimeout.RequestTimeout = 20 * time.Second
	return c
}

func newClient(id, secret string) *ts.TableStoreClient {
	return ts.NewClientWithConfig(settings.endpoint, settings.instance, id, secret, "", config(3))
}

// reach tells a dead endpoint from a server that answers, whatever it answers.
func reach() error {
	client := ts.NewClientWithConfig(settings.endpoint, settings.instance, settings.id, settings.secret, "", config(0))
	_, err := client.ListTable()
	if _, answered := err.(*ts.OtsError); answered {
		return nil
	}
	return err
}
