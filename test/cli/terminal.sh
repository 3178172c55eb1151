# shellcheck shell=bash
# terminal.sh: the shell in a real terminal (tmux) of 50, 80 and 200 columns; a part of run.sh. What the screen shows then is
# kept in test/cli/screens; SCREENS=write writes them anew.
socket= sessions=0
terminal() { env -u TMUX tmux -L "$socket" -f /dev/null "$@"; }
type() { terminal send-keys "$@"; }
screen() { terminal capture-pane -p | sed -E 's/ +$//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }
shows() { eventually sh -c "tmux -L $socket capture-pane -p | grep -qE -- \"\$1\"" - "$1" || { screen; false; }; }
lines() { eventually sh -c "[ \$(tmux -L $socket capture-pane -p | grep -cE -- \"\$1\") = $2 ]" - "$1" || { screen; false; }; }
open_terminal() { # COLUMNS COMMAND
    socket=wr-cli-$$-$((++sessions)) # a server that ends takes a moment, and takes new sessions with it
    terminal new-session -d -x "$1" -y 40 "env LC_ALL=C.UTF-8 HOME=$work/home XDG_CONFIG_HOME= PS1='\$ ' $2" && terminal set-option -g status off
}
as_kept() { # NAME
    screen >"$work/$1"
    [ "${SCREENS:-}" != write ] || cp "$work/$1" "test/cli/screens/$1"
    diff "test/cli/screens/$1" "$work/$1"
}

mkdir -p "$work/home"
run create show --key city:string,n:integer
run put show 北京 1 "note=漢字テスト" amount=12.5
run put show 大阪 22 "note=a text that is longer than any of these narrow terminals could show in one line, so it is cut" amount=100
run put show zürich 333 blob='{"base64":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}' paid=true
for columns in 50 80 200; do
    open_terminal $columns "$widerow --dir $work/data"
    shows "^widerow>" >/dev/null
    type 'use show' Enter
    shows "^show>" >/dev/null
    type 'scan' Enter
    lines "^show>" 2 >/dev/null
    type 'get 北京 1 --format vertical' Enter
    check "a table, CJK and cut cells at $columns columns" lines "^show>" 3
    check "as it is kept" as_kept "$columns.txt"
    terminal kill-server
done

# Completion, history, Ctrl-C.
open_terminal 80 "$widerow --dir $work/data"
shows "^widerow>" >/dev/null
type 'desc' Tab
check "a command completes" shows "^widerow> describe *$"
type 'sho' Tab
check "a table completes" shows "^widerow> describe show *$"
type Enter
check "and is described" shows "^table +show"
type 'put show x 5 am' Tab
check "a column completes" shows "^widerow> put show x 5 amount= *$"
type C-c
check "Ctrl-C leaves the line" lines '\^C' 1
type 'scan show --fo' Tab 'js' Tab
check "flag and value complete" shows "--format json$"
type C-c
lines '\^C' 2 >/dev/null
type "login other --endpoint http://127.0.0.1:1 --instance i --key-id id --key-secret TOPSECRET" Enter
check "a login that fails says so" shows "widerow login: cannot reach"
type Up
check "history" shows "^widerow> describe show"
type C-u 'sample campus --records 100000000' Enter
shows "^[0-9]+," >/dev/null
type C-c
check "Ctrl-C ends a command" shows "^widerow> *$"
type 'exit' Enter
check "exit ends it" eventually sh -c '! tmux -L "$1" has-session 2>/dev/null' - "$socket"
check "history is for its user alone" test "$(stat -c %a "$work/home/.widerow_history")" = 600
check "without secrets" sh -c '! grep -q TOPSECRET "$1" && grep -q describe "$1"' - "$work/home/.widerow_history"

# The pager and colors.
open_terminal 60 "env PAGER='sed s/^/paged:/' bash --norc -i"
type "$widerow scan show --dir $work/data --columns amount" Enter
check "a table goes through the pager" shows "^paged:city"
type "clear; NO_COLOR=1 $widerow scan show --dir $work/data --keys-only" Enter
shows "^paged:.*大阪" >/dev/null
check "NO_COLOR" sh -c '! tmux -L "$1" capture-pane -p -e | grep -q "\[1m"' - "$socket"
type "clear; $widerow scan show --dir $work/data --keys-only" Enter
shows "^paged:.*大阪" >/dev/null
check "else the head is bold" eventually sh -c 'tmux -L "$1" capture-pane -p -e | grep -q "\[1m"' - "$socket"
terminal kill-server

# The shell for statements. (tmux takes a ; at the end of a word for its own, unless it stands behind a backslash.)
if [ -e /usr/lib/x86_64-linux-gnu/libmariadb.so.3 ] || ldconfig -p | grep -q libmariadb.so.3; then
    WIDEROW_ACCESS_KEY_ID=key1 WIDEROW_ACCESS_KEY_SECRET=secret1 WIDEROW_INSTANCE=inst serve q --engine mem --sql 127.0.0.1:0 --admin off
    sql_port=$(sed -n 's/^sql=.*://p' "$work/q.port")
    open_terminal 80 "WIDEROW_ENDPOINT=${urls[q]} WIDEROW_INSTANCE=inst WIDEROW_ACCESS_KEY_ID=key1 WIDEROW_ACCESS_KEY_SECRET=secret1 $widerow sql --sql 127.0.0.1:$sql_port"
    shows "^sql>" >/dev/null
    type 'create table trades (card bigint, price double, primary key (card))\;' Enter
    shows "^0 rows changed" >/dev/null
    type 'ups' Tab
    check "SQL: a statement's first words complete" shows "^sql> upsert into *$"
    type 'tr' Tab
    check "SQL: a table completes" shows "^sql> upsert into trades *$"
    type '(card, pric' Tab ') values (1, 2.5)\;' Enter
    check "SQL: a column completes, and a statement says what it cost" shows "^1 row changed, .* 1 write unit$"
    type 'select price fr' Tab 'trades' Enter
    shows "^sql> select price from trades$" >/dev/null
    type 'wher' Tab
    check "SQL: a keyword completes on the next line" shows "^  -> where *$"
    type C-c
    shows "^sql> *$" >/dev/null
    type 'insert into trades (card, price) values '
    for i in $(seq 40); do type "($i, $i), "; done
    type '(0, 0)\;' Enter
    shows "^41 rows changed" >/dev/null
    type 'select count(*) from trades where card <> (select /*+ _l_allow_filtering_ */ sum((select count(*) from trades b where b.card > a.card and b.price <> (select sum(c.price) from trades c where c.card < b.card and c.price <> (select max(d.price) from trades d where d.price <> c.price and d.card <> (select sum(e.price) from trades e where e.price <> d.price))))) from trades a) ALLOW FILTERING\;' Enter
    running() { env WIDEROW_ENDPOINT="${urls[q]}" WIDEROW_INSTANCE=inst WIDEROW_ACCESS_KEY_ID=key1 WIDEROW_ACCESS_KEY_SECRET=secret1 \
        "$widerow" sql --sql "127.0.0.1:$sql_port" 'show processlist' | grep -q 'select count.*card <>'; }
    check "SQL: a statement that takes long" eventually running
    type C-c
    check "SQL: Ctrl-C ends it" shows "interrupted"
    type 'select 1 + 1 as two\;' Enter
    check "SQL: and the shell goes on" shows "^ *2 *$"
    type 'exit' Enter
    eventually sh -c '! tmux -L "$1" has-session 2>/dev/null' - "$socket"
    kill -TERM "${pids[q]}" && wait "${pids[q]}"
fi

# Completion of bash and zsh, as typed.
touch "$work/home/.zshrc"
ln -sf "$PWD/$BUILD/completion/_widerow" "$work/_widerow"
for shell in bash zsh; do
    command -v $shell >/dev/null || continue
    case $shell in
    bash) start="bash --norc -i" load="source $PWD/$BUILD/completion/widerow.bash" ;;
    zsh) start="zsh -f -i" load="fpath=($work \$fpath); autoload -U compinit; compinit -u -D" ;;
    esac
    open_terminal 80 "$start"
    type "$load; PS1='ready> '; export PATH=$work:\$PATH; clear" Enter
    shows "^ready>" >/dev/null
    type 'widerow expo' Tab
    check "$shell, typed: a command completes" shows "^ready> widerow export *$"
    type 't --outp' Tab
    check "$shell, typed: a flag completes" shows "^ready> widerow export t --output *$"
    terminal kill-server
done

# ---- profiles ----
export HOME=$work/home XDG_CONFIG_HOME=
check "a server to log in to" serve login --admin off
secret=$(awk '!/^#/ { print $3; exit }' "$work/login/credentials")
key=$(awk '!/^#/ { print $2; exit }' "$work/login/credentials")
check "login" "$widerow" login --endpoint "${urls[login]}" --instance local --key-id "$key" --key-secret "$secret"
check "login, the secret from standard input" sh -c 'echo "$1" | "$2" login second --endpoint "$3" --instance local --key-id "$4"' - "$secret" "$widerow" "${urls[login]}" "$key"
check "the file is for its user alone" test "$(stat -c %a "$work/home/.config/widerow/profiles")" = 600
check "a command takes the default one" "$widerow" tables
check "and one that is named" "$widerow" tables --profile second
check "one that is not there" fails "there is no profile third" "$widerow" tables --profile third
check "a wrong secret is not kept" fails "OTSAuthFailed" "$widerow" login third --endpoint "${urls[login]}" --instance local --key-id "$key" --key-secret wrong
check "so it is not there" fails "there is no profile third" "$widerow" tables --profile third
chmod 644 "$work/home/.config/widerow/profiles"
check "a file that others may read is refused" fails "chmod 600" "$widerow" tables
chmod 600 "$work/home/.config/widerow/profiles"
stop_all TERM

# ---- scripts ----
printf '%s\n' '# a script' "create script --key k:string" 'use script' "put 'a b' v=\"two words\"" 'get "a b"' 'list -t' >"$work/script"
check "a script" sh -c '"$1" --dir "$2" - <"$3" | grep -qx "{\"k\":\"a b\",\"v\":\"two words\"}"' - "$widerow" "$work/data" "$work/script"
check "each line once" sh -c '[ "$(printf "%s\n" "count script" "count script" "count script" >"$3"; "$1" --dir "$2" - <"$3" | wc -l)" = 3 ]' - "$widerow" "$work/data" "$work/thrice"
check "it ends at the first failure" sh -c 'printf "get nothing 1\ncreate after --key k:string\n" | "$1" --dir "$2" - 2>/dev/null; [ $? = 3 ] && ! "$1" describe after --dir "$2"' - "$widerow" "$work/data"
check "Tablestore's words" sh -c 'printf "use -t t\nput --pk %s --attr %s --condition ignore\nget --pk %s\ndesc\nlist\n" "'"'"'[\"z\",9]'"'"'" "'"'"'[{\"c\":\"v\",\"v\":1}]'"'"'" "'"'"'[\"z\",9]'"'"'" | "$1" --dir "$2" - | grep -qx "{\"k\":\"z\",\"n\":9,\"v\":1}"' - "$widerow" "$work/data"
