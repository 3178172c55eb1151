# shellcheck shell=bash
# python.sh: packages of pip for a suite, behind check.sh. They are installed once, into a folder of the cache that stays, and anew
# where the list or the interpreter is another one.
#
#   python_packages NAME LIST     NAME: of the folder; $python is its interpreter
python_packages() {
    local cache=${WIDEROW_CACHE:-$HOME/.cache/widerow}/$1 stamp code
    python=$cache/bin/python
    stamp=$(python3 --version; cat "$2")
    mkdir -p "$(dirname "$cache")"
    exec 8>"$cache.lock"
    flock 8
    if [ "$stamp" != "$(cat "$cache/installed" 2>/dev/null)" ]; then
        python3 -m venv --clear "$cache" && "$python" -m pip install --disable-pip-version-check -q -r "$2" && echo "$stamp" >"$cache/installed"
    fi
    code=$?
    exec 8>&-
    return $code
}
