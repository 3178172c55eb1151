#!/usr/bin/env bash
# tools/manual.sh 8|5 WIDEROWD: the man page widerowd(8) or widerow.conf(5), out of what the server says of itself.
set -eu
export LC_ALL=C.UTF-8
version=$("$2" --version | cut -d' ' -f2)
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
body() { roff | sed -E 's/^TP (.*)$/.TP\n.B \1/'; }
if [ "$1" = 8 ]; then
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
