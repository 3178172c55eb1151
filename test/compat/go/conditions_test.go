package compat

import (
	"fmt"
	"testing"

	ts "github.com/aliyun/aliyun-tablestore-go-sdk/tablestore"
)

const (
	conditionCode = "OTSConditionCheckFail"
	conditionText = "Condition check failed."
)

// write runs one of the three writes under an expectation and an optional column condition.
func (t *T) write(operation, table string, key *ts.PrimaryKey, expect ts.RowExistenceExpectation, column ts.ColumnFilter) error {
	condition := &ts.RowCondition{RowExistenceExpectation: expect, ColumnCondition: column}
	var err error
	switch operation {
	case "put":
		change := putChange(table, key, c("v", "written"))
		change.Condition = condition
		_, err = t.putRow(change)
	case "update":
		change := updateChange(table, key)
		change.PutColumn("v", "written")
		change.Condition = condition
		_, err = t.updateRow(change)
	case "delete":
		change := deleteChange(table, key)
		change.Condition = condition
		_, err = t.deleteRow(change)
	}
	return err
}

func TestCondition(t *testing.T) {
	expectations := []struct {
		name   string
		expect ts.RowExistenceExpectation
	}{{"IGNORE", ignore}, {"EXPECT_EXIST", exist}, {"EXPECT_NOT_EXIST", notExist}}

	for _, operation := range []string{"put", "update", "delete"} {
		for _, there := range []bool{true, false} {
			for _, e := range expectations {
				state := map[bool]string{true: "present", false: "absent"}[there]
				run(t, fmt.Sprintf("%s, row %s, %s", operation, state, e.name), func(t *T) {
					table, key := t.shared(1), t.key(0)
					if there {
						t.put(table, key, c("v", "before"))
					}
					err := t.write(operation, table, key, e.expect, nil)
					passes := e.expect == ignore || (e.expect == exist) == there
					if !passes {
						t.wantError(err, 403, conditionCode, conditionText)
						t.wantUnchanged(table, key, there)
						return
					}
					t.must(err)
					answer := t.get(table, key)
					t.equal("row there afterwards", present(answer), operation != "delete")
				})
			}
		}
	}

	comparators := []struct {
		name            string
		comparator      ts.ComparatorType
		less, eq, great bool
	}{
		{"EQUAL", ts.CT_EQUAL, false, true, false},
		{"NOT_EQUAL", ts.CT_NOT_EQUAL, true, false, true},
		{"GREATER_THAN", ts.CT_GREATER_THAN, false, false, true},
		{"GREATER_EQUAL", ts.CT_GREATER_EQUAL, false, true, true},
		{"LESS_THAN", ts.CT_LESS_THAN, true, false, false},
		{"LESS_EQUAL", ts.CT_LESS_EQUAL, true, true, false},
	}
	for _, cmp := range comparators {
		run(t, "column "+cmp.name, func(t *T) {
			table := t.shared(1)
			for stored, passes := range map[int]bool{9: cmp.less, 10: cmp.eq, 11: cmp.great} {
				key := t.key(stored)
				t.put(table, key, c("n", stored))
				err := t.write("update", table, key, ignore, single("n", cmp.comparator, 10))
				if passes {
					t.must(err)
				} else {
					t.wantError(err, 403, conditionCode, conditionText)
				}
			}
		})
	}

	yes := func() ts.ColumnFilter { return single("n", ts.CT_EQUAL, 10) }
	no := func() ts.ColumnFilter { return single("s", ts.CT_EQUAL, "other") }
	combinations := []struct {
		name   string
		filter func() ts.ColumnFilter
		passes bool
	}{
		{"yes AND yes", func() ts.ColumnFilter { return composite(ts.LO_AND, yes(), yes()) }, true},
		{"yes AND no", func() ts.ColumnFilter { return composite(ts.LO_AND, yes(), no()) }, false},
		{"no OR yes", func() ts.ColumnFilter { return composite(ts.LO_OR, no(), yes()) }, true},
		{"no OR no", func() ts.ColumnFilter { return composite(ts.LO_OR, no(), no()) }, false},
		{"NOT yes", func() ts.ColumnFilter { return composite(ts.LO_NOT, yes()) }, false},
		{"NOT no", func() ts.ColumnFilter { return composite(ts.LO_NOT, no()) }, true},
		{"(no OR yes) AND NOT no", func() ts.ColumnFilter {
			return composite(ts.LO_AND, composite(ts.LO_OR, no(), yes()), composite(ts.LO_NOT, no()))
		}, true},
		{"NOT (yes AND (no OR yes))", func() ts.ColumnFilter {
			return composite(ts.LO_NOT, composite(ts.LO_AND, yes(), composite(ts.LO_OR, no(), yes())))
		}, false},
	}
	for _, combination := range combinations {
		run(t, "columns "+combination.name, func(t *T) {
			table, key := t.shared(1), t.key(0)
			t.put(table, key, c("n", 10), c("s", "text"), c("v", "before"))
			err := t.write("update", table, key, ignore, combination.filter())
			if combination.passes {
				t.must(err)
			} else {
				t.wantError(err, 403, conditionCode, conditionText)
			}
		})
	}

	run(t, "a missing column passes or fails as told", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("v", "before"))
		condition := single("absent", ts.CT_EQUAL, 1)
		t.wantError(t.write("put", table, key, ignore, condition), 403, conditionCode, conditionText)
		condition.FilterIfMissing = false
		t.must(t.write("put", table, key, ignore, condition))
	})

	run(t, "existence and column must both hold", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("n", 10), c("v", "before"))
		t.wantError(t.write("update", table, key, exist, no()), 403, conditionCode, conditionText)
		t.wantError(t.write("update", table, key, notExist, yes()), 403, conditionCode, conditionText)
		t.wantCells("unchanged", t.get(table, key), "n", 10, "v", "before")
		t.must(t.write("update", table, key, exist, yes()))
	})

	run(t, "delete under a column condition", func(t *T) {
		table, key := t.shared(1), t.key(0)
		t.put(table, key, c("n", 10), c("v", "before"))
		t.wantError(t.write("delete", table, key, ignore, no()), 403, conditionCode, conditionText)
		t.check(present(t.get(table, key)), "the row was deleted")
		t.must(t.write("delete", table, key, ignore, yes()))
		t.check(!present(t.get(table, key)), "the row is still there")
	})
}

func (t *T) wantUnchanged(table string, key *ts.PrimaryKey, there bool) {
	if there {
		t.wantCells("unchanged row", t.get(table, key), "v", "before")
	} else {
		t.check(!present(t.get(table, key)), "a refused write made a row")
	}
}
