#!/usr/bin/env bash
# tools/manual.sh 8|5 WIDEROWD: the man page widerowd(8) or widerow.conf(5), out of what the server says of itself.
# tools/manual.sh 3 HEADER: the man page libwiderow(3), out of the public header.
set -eu
export LC_ALL=C.UTF-8
version=$(cat "$(dirname "$0")/../VERSION")
# Names and texts to roff: one request a setting. Hyphens and backslashes have a meaning there.
roff() { sed -e 's/\\/\\e/g; s/-/\\-/g' -e "s/^\\([.']\\)/\\\\\\&\\1/"; }
settings() { # PREFIX: name, value and text of each, from --print-defaults
    "$2" --print-defaults | awk -v prefix="$1" '
        /^# [^=]*$/ || /^# .*\)$/ { text = substr($0, 3); next }
        /^# [a-z0-9_]+ = / {
            name = $2; value = $0; sub(/^# [a-z0-9_]+ = ?/, "", value)
            printf "TP %s%s\n%s%s\n", prefix, name, text, value == "" ? "" : " [" value "]"
        }'
}
functions() { # HEADER: each declaration on a line
    awk '/^WR_API / {
        while ($0 !~ /;/ && (getline more) > 0) { sub(/^ +/, " ", more); $0 = $0 more }
        sub(/^WR_API /, ""); sub(/;.*/, ";"); print
    }' "$1"
}
codes() { # HEADER: "NAME text" of each error
    sed -nE 's|^    WR_(E_[A-Z_]+) = [0-9]+, +/\* (.*) \*/$|\1 \2|p' "$1"
}
body() { roff | sed -E 's/^TP (.*)$/.TP\n.B \1/'; }
if [ "$1" = 3 ]; then
    cat <<ROFF
.TH LIBWIDEROW 3 "" "Widerow $version" "Library Functions"
.SH NAME
libwiderow \\- the wide\\-column database Widerow in a program of your own
.SH SYNOPSIS
.nf
.B #include <widerow.h>
.PP
ROFF
    functions "$2" | roff
    cat <<'ROFF'
.fi
.PP
.I cc $(pkg\-config \-\-cflags widerow) program.c $(pkg\-config \-\-libs widerow)
.SH DESCRIPTION
The whole database as a library, in C11 and C++17.
.BR wr_open ()
opens a data folder, which one process at a time has open. Each operation is one
.I struct wr_request
that is handed to
.BR wr_exec (),
which waits, or to
.BR wr_submit (),
which calls a function when the answer is there; both give a
.IR "struct wr_reply" ,
which owns all that it points to until
.BR wr_reply_free ().
Any thread may call any function at any time, but where the header says otherwise.
.PP
An answer without an error to a write comes after the write is on stable storage, unless the folder was opened with
.IR no_sync .
.PP
The header is the manual: it says of each function and member what it takes and gives, in which units, who owns what
until when, and which errors there are.
.SH ERRORS
0 is success. Of any other code
.BR wr_error_applied ()
tells whether the request may have changed anything. Behind
.B WR_
they are:
ROFF
    codes "$2" | roff | sed -E 's/^([A-Z_]+) (.*)$/.TP\n.B \1\n\2/'
    cat <<'ROFF'
.SH EXAMPLE
A program in C and one in C++ are in the package widerow\-doc, in examples/embed.
.SH "SEE ALSO"
.BR widerow (1),
.BR widerowd (8)
ROFF
elif [ "$1" = 8 ]; then
    cat <<ROFF
.TH WIDEROWD 8 "" "Widerow $version" "System Administration"
.SH NAME
widerowd \\- server of the wide\\-column database Widerow
.SH SYNOPSIS
.B widerowd
.RI [ flags ]
.SH DESCRIPTION
Serves tables over HTTP, in the protocol of Tablestore. A setting is a flag, an environment variable (WIDEROW_NAME) or a
line of
.BR widerow.conf (5);
flags win over the environment, that over the file. SIGHUP reads access keys and the certificate again, SIGTERM stops.
.SH OPTIONS
.nf
ROFF
    "$2" --help | sed -n '/^  --/p; /^    /p' | roff
    cat <<'ROFF'
.fi
.SH "EXIT STATUS"
0 stopped in order, 1 could not start, 2 a flag or setting that cannot be.
.SH "SEE ALSO"
.BR widerow (1),
.BR widerow.conf (5)
ROFF
else
    cat <<ROFF
.TH WIDEROW.CONF 5 "" "Widerow $version" "File Formats"
.SH NAME
widerow.conf \\- settings of the server widerowd
.SH DESCRIPTION
Read from the data folder, or where
.B \\-\\-config
says. A line is
.IR "name = value" ;
a # begins a comment, at the start of a line or behind a space.
.B widerowd \\-\\-check\\-config
says whether a file is good, and
.B \\-\\-print\\-defaults
prints one. In brackets stands the default.
.SH SETTINGS
ROFF
    settings '' "$2" | body
    cat <<'ROFF'
.SH "SEE ALSO"
.BR widerowd (8),
.BR widerow (1)
ROFF
fi
