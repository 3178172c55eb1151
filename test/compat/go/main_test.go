package compat

import (
	"os"
	"strings"
	"testing"
	"time"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// settings come from the environment; cases that need another client build it from these.
var settings = struct{ endpoint, instance, id, secret string }{
	strings.TrimRight(os.Getenv("WIDEROW_ENDPOINT"), "/"), // the SDK appends "/Operation", so a slash would be doubled
	os.Getenv("WIDEROW_INSTANCE"), os.Getenv("WIDEROW_ACCESS_KEY_ID"), os.Getenv("WIDEROW_ACCESS_KEY_SECRET"),
}

var client = newClient(settings.id, settings.secret)

func TestMain(m *testing.M) {
	if os.Getenv("WIDEROW_TUNNEL") != "" {
		workAlone()
	}
	code := m.Run()
	dropShared(client)
	os.Exit(code)
}

// config retries for as long as a server that paces table operations may need.
func config() *ts.TableStoreConfig {
	c := ts.NewDefaultTableStoreConfig()
	c.RetryTimes = 50
	c.MaxRetryTime = 5 * time.Second
	c.HTTPTimeout.ConnectionTimeout = 2 * time.Second
	c.HTTPTimeout.RequestTimeout = 20 * time.Second
	return c
}

func newClient(id, secret string) *ts.TableStoreClient {
	return ts.NewClientWithConfig(settings.endpoint, settings.instance, id, secret, "", config())
}
