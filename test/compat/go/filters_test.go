package compat

import (
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

// passes tells whether the row comes back under the filter.
func (t *T) passes(table string, key *ts.PrimaryKey, filter ts.ColumnFilter) bool {
	criteria := query(table, key)
	criteria.SetFilter(filter)
	return present(t.getBy(criteria))
}

func (t *T) wantPasses(what string, expected bool, key *ts.PrimaryKey, filter ts.ColumnFilter) {
	t.equal(what, t.passes(t.shared(1), key, filter), expected)
}

func many(n int) *ts.CompositeColumnValueFilter {
	filter := ts.NewCompositeColumnCondition(ts.LO_OR)
	for i := 0; i < n; i++ {
		filter.AddFilter(single("v", ts.CT_EQUAL, i))
	}
	return filter
}

func (t *T) filterError(filter ts.ColumnFilter) error {
	criteria := query(t.shared(1), t.key(0))
	criteria.SetFilter(filter)
	_, err := t.getRow(criteria)
	return err
}

func TestFilter(t *testing.T) {
	ordered := map[string][3]any{
		"INTEGER": {int64(-1), int64(0), int64(1)},
		"DOUBLE":  {-0.5, 0.0, 0.5},
		"STRING":  {"a", "ab", "b"},
		"BINARY":  {[]byte{1}, []byte{0x7f}, []byte{0x80}},
	}
	for _, kind := range []string{"INTEGER", "DOUBLE", "STRING", "BINARY"} {
		run(t, "six comparisons of "+kind, func(t *T) {
			v := ordered[kind]
			t.put(t.shared(1), t.key(0), c("v", v[1]))
			for i, expected := range map[int][6]bool{
				// EQUAL, NOT_EQUAL, GREATER_THAN, GREATER_EQUAL, LESS_THAN, LESS_EQUAL than the value on the right
				0: {false, true, true, true, false, false},
				1: {true, false, false, true, false, true},
				2: {false, true, false, false, true, true},
			} {
				for n, want := range expected {
					comparator := ts.ComparatorType(n + 1)
					t.wantPasses(show(v[1])+" against "+show(v[i]), want, t.key(0), single("v", comparator, v[i]))
				}
			}
		})
	}

	run(t, "equality of booleans", func(t *T) {
		t.put(t.shared(1), t.key(0), c("v", true))
		t.wantPasses("true = true", true, t.key(0), single("v", ts.CT_EQUAL, true))
		t.wantPasses("true = false", false, t.key(0), single("v", ts.CT_EQUAL, false))
	})

	run(t, "another type never matches", func(t *T) {
		kinds := []any{int64(7), "7", []byte("7"), true}
		for i, stored := range kinds {
			t.put(t.shared(1), t.key(i), c("v", stored))
			for j, value := range kinds {
				filter := single("v", ts.CT_EQUAL, value)
				filter.FilterIfMissing = false
				t.wantPasses(show(stored)+" against "+show(value), i == j, t.key(i), filter)
			}
		}
	})

	run(t, "missing column", func(t *T) {
		t.put(t.shared(1), t.key(0), c("v", 1))
		filter := single("absent", ts.CT_EQUAL, 1)
		t.wantPasses("filter if missing", false, t.key(0), filter)
		filter.FilterIfMissing = false
		t.wantPasses("pass if missing", true, t.key(0), filter)
	})

	run(t, "latest version only, or any version", func(t *T) {
		table, key := t.shared(5), t.key(0)
		t.fourVersions(table, key)
		filter := single("v", ts.CT_EQUAL, 2)
		t.equal("latest only", t.passes(table, key, filter), false)
		filter.LatestVersionOnly = false
		t.equal("any version", t.passes(table, key, filter), true)
		t.equal("latest value, latest only", t.passes(table, key, single("v", ts.CT_EQUAL, 4)), true)
	})

	run(t, "nested AND, OR, NOT", func(t *T) {
		t.put(t.shared(1), t.key(0), c("a", 1), c("b", "x"))
		yes, no := single("a", ts.CT_EQUAL, 1), single("b", ts.CT_EQUAL, "y")
		t.wantPasses("yes AND no", false, t.key(0), composite(ts.LO_AND, yes, no))
		t.wantPasses("yes OR no", true, t.key(0), composite(ts.LO_OR, yes, no))
		t.wantPasses("NOT no", true, t.key(0), composite(ts.LO_NOT, no))
		t.wantPasses("NOT NOT no", false, t.key(0), composite(ts.LO_NOT, composite(ts.LO_NOT, no)))
		t.wantPasses("yes AND yes AND NOT (no OR no)", true, t.key(0),
			composite(ts.LO_AND, yes, yes, composite(ts.LO_NOT, composite(ts.LO_OR, no, no))))
	})

	run(t, "on a key column", func(t *T) {
		t.put(t.shared(1), t.key(5), c("v", 1))
		t.wantPasses("5 = 5", true, t.key(5), single("q", ts.CT_EQUAL, 5))
		t.wantPasses("5 > 5", false, t.key(5), single("q", ts.CT_GREATER_THAN, 5))
	})

	run(t, "a range skips rows and reads on", func(t *T) {
		table := t.numbered(0, 30)
		criteria := everyRow(table)
		criteria.Limit = 4
		criteria.Filter = composite(ts.LO_OR, single("v", ts.CT_LESS_THAN, 3), single("v", ts.CT_GREATER_EQUAL, 25))
		rows, _ := t.readAll(criteria)
		t.equal("keys", firstKeys(rows), append(count(0, 3), count(25, 30)...))
	})

	run(t, "31 under an OR are allowed, 32 are not", func(t *T) {
		t.put(t.shared(1), t.key(0), c("v", 30))
		t.wantPasses("31 filters", true, t.key(0), many(31))
		t.wantInvalid(t.filterError(many(32)), "The count of filter exceeds the max: 32.")
	})

	run(t, "wrong number of sub-filters", func(t *T) {
		one := single("v", ts.CT_EQUAL, 1)
		t.wantInvalid(t.filterError(composite(ts.LO_NOT, one, one)), "Invalid NOT operator: the number of sub-filters must be 1.")
		t.wantInvalid(t.filterError(composite(ts.LO_NOT)), "Invalid NOT operator: the number of sub-filters must be 1.")
		for _, operator := range []ts.LogicalOperator{ts.LO_AND, ts.LO_OR} {
			t.wantInvalid(t.filterError(composite(operator, one)), "Invalid AND/OR operator: the number of sub-filters must be more than 1.")
		}
	})

	run(t, "value too long", func(t *T) {
		err := t.filterError(single("v", ts.CT_EQUAL, repeat('x', 2097153)))
		t.wantInvalid(err, "The length of attribute column: 'v' exceeds the MaxLength:2097152 with CurrentLength:2097153.")
	})

	run(t, "regex rule with casts", func(t *T) {
		t.put(t.shared(1), t.key(0), c("v", "t1:120,t2:x7.5y,name=abc;"))
		rules := []struct {
			regex      string
			cast       ts.VariantType
			comparator ts.ComparatorType
			value      any
			passes     bool
		}{
			{"t1:([0-9]+),", ts.Variant_INTEGER, ts.CT_EQUAL, int64(120), true},
			{"t1:([0-9]+),", ts.Variant_INTEGER, ts.CT_GREATER_THAN, int64(13), true},
			{"t1:([0-9]+),", ts.Variant_INTEGER, ts.CT_LESS_THAN, int64(13), false},
			{"t2:x([0-9.]+)y", ts.Variant_DOUBLE, ts.CT_EQUAL, 7.5, true},
			{"t2:x([0-9.]+)y", ts.Variant_DOUBLE, ts.CT_GREATER_THAN, 7.5, false},
			{"name=([a-z]+);", ts.Variant_STRING, ts.CT_EQUAL, "abc", true},
			{"name=([a-z]+);", ts.Variant_STRING, ts.CT_EQUAL, "abd", false},
			{"nothing([0-9]+)", ts.Variant_INTEGER, ts.CT_EQUAL, int64(1), false},
		}
		for _, rule := range rules {
			filter := ts.NewSingleColumnValueRegexFilter("v", rule.comparator, ts.NewValueTransferRule(rule.regex, rule.cast), rule.value)
			filter.FilterIfMissing = true
			filter.LatestVersionOnly = true
			t.wantPasses(rule.regex+" against "+show(rule.value), rule.passes, t.key(0), filter)
		}
	})

	run(t, "pagination of columns", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("a", 1), c("b", 2), c("c", 3), c("d", 4), c("e", 5))
		page := func(offset, limit int32) *ts.GetRowResponse {
			criteria := query(table, key)
			criteria.SetFilter(&ts.PaginationFilter{Offset: offset, Limit: limit})
			return t.getBy(criteria)
		}
		t.wantCells("first page", page(0, 2), "a", 1, "b", 2)
		t.wantCells("second page", page(2, 2), "c", 3, "d", 4)
		t.wantCells("last page", page(4, 2), "e", 5)
	})

	run(t, "pagination from a start column", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("a", 1), c("b", 2), c("c", 3), c("d", 4))
		criteria := query(table, key)
		criteria.SetStartColumn("b")
		criteria.SetFilter(&ts.PaginationFilter{Offset: 1, Limit: 1})
		t.wantCells("page", t.getBy(criteria), "c", 3)
	})
}
