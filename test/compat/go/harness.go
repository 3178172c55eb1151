// A very small test runner. The testing package is not used because the suite is one program that is
// built once, kept in the cache and pointed at whatever server the environment names.
package main

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

type testCase struct {
	name string
	run  func(*T)
}

// Cases run in the order they are listed by tier1 and tier2.
type suite struct{ cases []testCase }

func (s *suite) add(name string, run func(*T)) {
	s.cases = append(s.cases, testCase{name, run})
}

// T is handed to a case. A failed check panics with a failure, which the runner reports.
type T struct {
	client *ts.TableStoreClient
	name   string
	tables []string
}

type failure struct{ text string }

func (t *T) fail(format string, args ...any) {
	panic(failure{fmt.Sprintf(format, args...)})
}

// must ends the case if the SDK call gave an error.
func (t *T) must(err error) {
	if err != nil {
		t.fail("expected success\n  actual   error: %v", err)
	}
}

func (t *T) equal(what string, actual, expected any) {
	if !same(actual, expected) {
		t.fail("%s\n  expected %s\n  actual   %s", what, show(expected), show(actual))
	}
}

func (t *T) check(ok bool, format string, args ...any) {
	if !ok {
		t.fail(format, args...)
	}
}

// wantError checks status, code and the exact message of a refused request.
func (t *T) wantError(err error, status int, code, message string) {
	actual := t.refused(err, status, code)
	if message != "" {
		t.equal("message of "+code, actual.Message, message)
	}
}

// refused checks status and code where the message is not fixed by any source.
func (t *T) refused(err error, status int, code string) *ts.OtsError {
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
func (t *T) wantInvalid(err error, message string) { t.wantError(err, 400, invalid, message) }

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

// runAll runs every case whose name contains the filter and returns how many passed and failed.
func (s *suite) runAll(client *ts.TableStoreClient, filter string) (passed, failed int) {
	for _, c := range s.cases {
		if !strings.Contains(c.name, filter) {
			continue
		}
		if report := runOne(client, c); report != "" {
			failed++
			fmt.Printf("FAIL %s\n  %s\n", c.name, report)
		} else {
			passed++
			fmt.Printf("ok   %s\n", c.name)
		}
	}
	return passed, failed
}

func runOne(client *ts.TableStoreClient, c testCase) (report string) {
	t := &T{client: client, name: c.name}
	defer t.dropTables()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			report = p.text
		default:
			// The SDK dereferences optional fields without looking, so a missing field lands here.
			report = fmt.Sprintf("panic: %v\n%s", p, sdkFrames())
		}
	}()
	c.run(t)
	return ""
}

// sdkFrames shows where a panic came from without the runner's own frames.
func sdkFrames() string {
	var kept []string
	for _, line := range strings.Split(string(debug.Stack()), "\n") {
		if strings.Contains(line, ".go:") && !strings.Contains(line, "runtime/") && !strings.Contains(line, "harness.go") {
			kept = append(kept, "    "+strings.TrimSpace(line[strings.LastIndex(line, "/")+1:]))
		}
	}
	return strings.Join(kept, "\n")
}

func env(name string) string {
	value := os.Getenv(name)
	if value == "" {
		fmt.Printf("FAIL %s is not set\n", name)
		finish(0, 1)
	}
	return value
}

func finish(passed, failed int) {
	fmt.Printf("compat-go: %d passed, %d failed, 0 skipped\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}
