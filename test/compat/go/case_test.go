// What a case works with besides the SDK: checks, and tables that go when it ends.
package compat

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime/debug"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// T is a case with a client. A failed check ends the case.
type T struct {
	*testing.T
	client *ts.TableStoreClient
	name   string
	tables []string
}

// run runs a case under its name; its tables are dropped behind it.
func run(parent *testing.T, name string, body func(*T)) {
	parent.Run(name, func(test *testing.T) {
		t := &T{T: test, client: client, name: test.Name()}
		defer t.dropTables()
		defer func() {
			// The SDK dereferences optional fields without looking, so a field that is missing in an answer lands here; the cases
			// behind it are to run all the same.
			if p := recover(); p != nil {
				t.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		body(t)
	})
}

func (t *T) fail(format string, args ...any) {
	t.Helper()
	t.Fatalf(format, args...)
}

// must ends the case if the SDK call gave an error.
func (t *T) must(err error) {
	t.Helper()
	if err != nil {
		t.fail("expected success\n  actual   error: %v", err)
	}
}

func (t *T) equal(what string, actual, expected any) {
	t.Helper()
	if !same(actual, expected) {
		t.fail("%s\n  expected %s\n  actual   %s", what, show(expected), show(actual))
	}
}

func (t *T) check(ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.fail(format, args...)
	}
}

// wantError checks status, code and the exact message of a refused request.
func (t *T) wantError(err error, status int, code, message string) {
	t.Helper()
	actual := t.refused(err, status, code)
	if message != "" {
		t.equal("message of "+code, actual.Message, message)
	}
}

// refused checks status and code where the message is not fixed by any source.
func (t *T) refused(err error, status int, code string) *ts.OtsError {
	t.Helper()
	expected := fmt.Sprintf("%d %s", status, code)
	if err == nil {
		t.fail("expected %s\n  actual   success", expected)
	}
	actual, ok := err.(*ts.OtsError)
	if !ok {
		t.fail("expected %s\n  actual   not an answer of the server: %v", expected, err)
	}
	if got := fmt.Sprintf("%d %s", actual.HttpStatusCode, actual.Code); got != expected {
		t.fail("expected %s\n  actual   %s %q", expected, got, actual.Message)
	}
	return actual
}

const invalid = "OTSParameterInvalid"

// wantInvalid is wantError for the commonest refusal.
func (t *T) wantInvalid(err error, message string) {
	t.Helper()
	t.wantError(err, 400, invalid, message)
}

// same compares values; a nil and an empty byte string are the same to the SDK's reader.
func same(a, b any) bool {
	x, isBytes := a.([]byte)
	y, alsoBytes := b.([]byte)
	if isBytes && alsoBytes {
		return bytes.Equal(x, y)
	}
	return reflect.DeepEqual(a, b)
}

// show keeps a failure readable when the value is megabytes long.
func show(v any) string {
	s := fmt.Sprintf("%T %+v", v, v)
	if text, ok := v.(string); ok {
		s = fmt.Sprintf("%q", text)
	}
	if len(s) > 300 {
		s = fmt.Sprintf("%s... (%d characters)", s[:300], len(s))
	}
	return s
}
