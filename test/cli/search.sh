# shellcheck shell=bash
# search.sh: `widerow search`; part of run.sh.
serve searched --admin 127.0.0.1:0
at=(--endpoint "${urls[searched]}" --data "$work/searched")
run create goods --key id:integer
for n in 1 2 3 4 5; do echo "{\"id\":$n,\"title\":\"red shoes number $n\",\"price\":${n}0,\"tag\":\"t$((n % 2))\",\"place\":\"30.$n,120.1\"}"; done >"$work/goods.jsonl"
run import "$work/goods.jsonl" --table goods --quiet >/dev/null
schema='{"fields": [
  {"name": "title", "type": "text", "analyzer": "single_word", "store": false},
  {"name": "price", "type": "long", "store": true},
  {"name": "tag", "type": "keyword", "store": true},
  {"name": "place", "type": "geo_point", "store": true}
 ]}'
echo "$schema" >"$work/schema.json"
finds() { [ "$(run search query goods gi "$2" "${@:3}" 2>"$work/said.err" | grep -oE '"id":[0-9]+' | cut -d : -f 2 | paste -sd ' ')" = "$1" ]; } # IDS CONDITION FLAG…
explains() { # CODE WORDS CONDITION KEY
    run search explain goods gi "$3" "$4" >"$work/said" 2>&1
    [ $? = "$1" ] && grep -qE -- "$2" "$work/said" || { cat "$work/said"; false; }
}
check "search create waits for the rows" run search create goods gi "$work/schema.json"
check "search list" prints $'goods\tgi' search list goods
check "of all tables" prints $'goods\tgi' search list
check "search describe --schema is the file" prints "$schema" search describe goods gi --schema
check "search describe" sh -c '"$@" | grep -q "^rows  *5$"' - "$widerow" search describe goods gi "${at[@]}"
check "all, in the order of the key" finds "1 2 3 4 5" '*'
check "words" finds "2 3" 'title : "2 3" and price > 15'
check "all words" finds "3" 'title :: "red 3"'
check "a phrase" finds "4" 'title ~ "number 4"'
check "a range, sorted" finds "4 3" 'price >= 30 and price < 50' --sort -price
check "or, not, brackets" finds "1 2 3 5" 'tag = t1 or not (price > 20)'
check "prefix, wildcard, exists" finds "2 4" 'tag starts "t" and tag like "?0" and price exists'
check "around a point" finds "2" 'place near "30.2,120.1" 1000'
check "as many as asked for" finds "1 2 3" '*' --limit 3
check "the count" sh -c '"$@" 2>&1 >/dev/null | grep -qx "5 rows in all"' - "$widerow" search query goods gi '*' --limit 1 --total "${at[@]}"
check "columns, and the score" prints '{"id":3,"tag":"t1","_score":1.0}' search query goods gi 'price = 30' --sort _score --columns tag
check "explain: found, with scores" explains 0 '^  match title: found, score 1\.47' 'title : "red 3" and (price > 15 or tag starts "x")' 3
check "explain: which part is not" explains 3 '^    range price: not found; the row has 30$' 'title : "red 3" and (price > 45 or tag starts "x")' 3
check "explain: no such row" explains 3 'the table has no such row' '*' 9
run put goods 7 title=blue price=cheap
check "a row comes into the index" eventually finds "7" 'title : blue'
check "explain: a value that does not fit" explains 3 'has "cheap", which is no long' 'price > 45' 7
check "explain: a row that has gone meanwhile" bash -c '"$1" delete goods 7 "${@:2}" && "$1" search explain goods gi "title : blue" 7 "${@:2}" 2>&1 | grep -q "no such row"' - "$widerow" "${at[@]}"
check "a condition that breaks off" exits 2 "a value is missing at 'the end'" search query goods gi 'price >'
check "brackets that do not close" exits 2 "a \) is missing" search query goods gi '(price > 5'
check "a field that is not there" exits 2 "field: none does not exist" search query goods gi 'none = 1'
echo '{"fields": [{"name": "a", "type": "txt"}]}' >"$work/bad.json"
check "a type that is none" exits 2 "no such type of a field: txt" search create goods other "$work/bad.json"
echo '{"fields": [{"name": "a", "type": "text"' >"$work/bad.json"
check "a file that breaks off" exits 2 "bad.json: " search create goods other "$work/bad.json"
check "no file" exits 3 "No such file" search create goods other "$work/none.json"
check "an action that is none" exits 2 "none of list, create" search find goods
metric() { curl -s "${admins[searched]}/metrics" | awk -v name="widerow_$1" '$1 == name { print $2 }'; } # NAME
counted() { [ "$(metric search_indexes) $(metric search_documents) $(($(metric search_segments) > 0))" = "1 5 1" ]; }
check "metrics: indexes, documents, segments" eventually counted
check "metrics: bytes and searches" sh -c '[ "$1" -gt 100 ] && [ "$2" -gt 10 ]' - "$(metric search_bytes)" "$(metric searches_total)"
check "metrics: changes that wait" sh -c '[ -n "$1" ] && [ "$2" = 0 ]' - "$(metric change_log_bytes)" "$(metric change_logs_cut_total)"
check "metrics: it follows, and is not far behind" sh -c '[ "$1 $2" = "0 0" ] && [ "$3" -lt 120 ]' - "$(metric search_indexes_reading)" "$(metric search_indexes_stopped)" "$(metric search_behind_seconds)"
check "readyz has nothing to say of it" sh -c '[ "$(curl -s "$1/readyz")" = ready ]' - "${admins[searched]}"
check "search drop" run search drop goods gi
check "is gone" prints "" search list goods
check "what is gone is not found" exits 3 "gi. does not exist" search query goods gi 'price > 5'
check "nor dropped" exits 3 "gi. does not exist" search drop goods gi
at=(--dir "$work/data")
stop_all TERM
