#!/usr/bin/env bash
# `make install`: what it puts where, what the library shows, programs in C and C++ that are built with pkg-config against
# the installed copy, and that building again gives the same bytes. Nothing is compiled but these programs.
set -u
cd "$(dirname "$0")/../.."
source test/check.sh
version=$(cat VERSION)
root=$work/root
lib=$root/opt/wr/lib64
sanitize=${SAN:+-fsanitize=$SAN}
build_() { make -s BUILD="$BUILD" SAN="${SAN:-}" "$@"; }

check "make install" build_ install DESTDIR="$root" prefix=/opt/wr libdir=/opt/wr/lib64
(cd "$root" && find . ! -type d | sort) >"$work/files"
check "what is installed" diff - <(grep -v widerowd-rados "$work/files") <<LIST
./opt/wr/bin/widerow
./opt/wr/bin/widerowd
./opt/wr/include/widerow.h
./opt/wr/include/widerow_load.h
./opt/wr/include/widerow_search.h
./opt/wr/lib64/libwiderow.a
./opt/wr/lib64/libwiderow.so
./opt/wr/lib64/libwiderow.so.0
./opt/wr/lib64/libwiderow.so.$version
./opt/wr/lib64/pkgconfig/widerow.pc
./opt/wr/share/bash-completion/completions/widerow
./opt/wr/share/fish/vendor_completions.d/widerow.fish
./opt/wr/share/man/man1/widerow.1
./opt/wr/share/man/man3/libwiderow.3
./opt/wr/share/man/man5/widerow.conf.5
./opt/wr/share/man/man8/widerowd.8
./opt/wr/share/zsh/vendor-completions/_widerow
LIST
for program in widerow widerowd; do
    check "$program links at most 15 libraries, none of Ceph's" sh -c 'readelf -d "$1" | grep NEEDED >"$2" && ! grep -qE "rados|ceph" "$2" && [ $(wc -l <"$2") -le 15 ]' \
        - "$root/opt/wr/bin/$program" "$work/needed"
done
pool=$root/opt/wr/lib/widerow/widerowd-rados
if [ -e "$pool" ]; then
    on_pool() { ! timeout 20 "$root/opt/wr/bin/widerowd" --engine rados --ceph-conf /nowhere/ceph.conf --data "$work/pool" 2>"$work/on_pool" && grep -q "$1" "$work/on_pool"; }
    check "the server on a pool is found where it is installed" on_pool /nowhere/ceph.conf
    mv "$pool" "$work"
    check "without it the package is named" on_pool widerow-rados
    mv "$work/widerowd-rados" "$pool"
fi
check "the installed server runs" sh -c '[ "$("$1" --version)" = "widerowd $2" ]' - "$root/opt/wr/bin/widerowd" "$version"

# The command line by itself; the database and libcurl are loaded by commands that need them.
embedded() { "$root/opt/wr/bin/widerow" bench write --embedded --engine mem --records 10 --ops 10 --quiet --json; }
if [ -z "${SAN:-}" ]; then
    few() { [ "$(ldd "$root/opt/wr/bin/widerow" | tee "$work/ldd" | wc -l)" -le 15 ]; }
    check "ldd of the command line has at most 15 lines" few
fi
check "a command that needs the library finds it where it is installed" embedded
mv "$lib" "$lib.away"
check "without it the package is named" sh -c '! "$1" bench write --embedded --engine mem --records 10 --ops 10 2>"$2" && grep -q libwiderow0 "$2"' \
    - "$root/opt/wr/bin/widerow" "$work/without"
mv "$lib.away" "$lib"

# The library.
check "its soname" sh -c 'readelf -d "$1" | grep -F "[libwiderow.so.0]"' - "$lib/libwiderow.so"
sed -n 's/^WR_API .*[ *]\(wr_[a-z0-9_]*\)(.*/\1@@WIDEROW_0/p' include/widerow.h include/widerow_load.h | sort >"$work/declared"
check "widerow.h declares functions" [ "$(wc -l <"$work/declared")" -ge 40 ]
nm -D --defined-only "$lib/libwiderow.so" | awk '$2 != "A" { print $3 }' | sort >"$work/shown"
check "the shared library shows those, with their version" diff "$work/declared" "$work/shown"
nm -g --defined-only "$lib/libwiderow.a" | awk 'NF == 3 { print $3 "@@WIDEROW_0" }' | grep -v '__odr_asan' | sort >"$work/shown"
check "the static library shows no others" diff "$work/declared" "$work/shown"

# Programs of others. The installed copy is found where it lies, though its .pc names another place.
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
flags=$(pkg-config --cflags widerow) libs=$(pkg-config --libs widerow)
check "the .pc has the version" [ "$(pkg-config --modversion widerow)" = "$version" ]
strict="-Wall -Wextra -pedantic -Werror $sanitize"
for compiler in gcc clang; do
    for standard in c11 c17; do
        check "widerow.h as $standard, $compiler" $compiler -std=$standard $strict -fsyntax-only $flags -x c -include widerow.h /dev/null
    done
done
for compiler in g++ clang++; do
    for standard in c++17 c++20; do
        check "widerow.h as $standard, $compiler" $compiler -std=$standard $strict -fsyntax-only $flags -x c++ -include widerow.h /dev/null
    done
done
check "C against the shared library" gcc -std=c11 $strict $flags examples/embed/cards.c -o "$work/c" $libs
check "C++ against the shared library" g++ -std=c++17 $strict $flags examples/embed/cards.cpp -o "$work/cpp" $libs
check "C against the static library" gcc -std=c11 $strict $flags examples/embed/cards.c -o "$work/static" "$lib/libwiderow.a" \
    $(pkg-config --static --libs widerow | sed 's/-lwiderow//')
check "the program asks for the soname" sh -c 'readelf -d "$1" | grep -F "NEEDED" | grep -F "[libwiderow.so.0]"' - "$work/c"
for program in c cpp static; do
    run=(env LD_LIBRARY_PATH="$lib" "$work/$program" "$work/$program.data")
    check "$program runs" "${run[@]}"
    check "$program reads what it wrote" grep -qx 'card-1: balance = 20' "$work/before"
    check "$program runs again on its data" "${run[@]}"
done

# Programs of another version: their structs are shorter or longer than the library's.
for form in older newer; do
    mkdir -p "$work/$form.include"
    sed -f test/install/$form.sed include/widerow.h >"$work/$form.include/widerow.h"
    cp include/widerow_search.h "$work/$form.include"
    check "an $form header differs" sh -c '! cmp -s include/widerow.h "$1"' - "$work/$form.include/widerow.h"
    check "a program with it" gcc -std=c11 $strict $([ $form = older ] || echo -DNEWER) -I"$work/$form.include" \
        test/install/older.c -o "$work/$form" $libs
    run=(env LD_LIBRARY_PATH="$lib" "$work/$form" "$work/$form.data")
    check "runs" "${run[@]}"
    check "and reads what it wrote" grep -qx '1 columns, 20' "$work/before"
done
refused() { ! "$@" 2>"$work/refused" && grep -q 'newer widerow.h' "$work/refused"; }
rm -rf "$work/newer.data"
check "what a newer one asks for is refused" refused "${run[@]}" please

# What is built.
if [ -z "${SAN:-}" ]; then
    for binary in "$root"/opt/wr/bin/* "$lib/libwiderow.so"; do
        name=$(basename "$binary")
        readelf -dlhW "$binary" >"$work/elf"
        check "$name may lie anywhere" grep -qE 'Type: +DYN' "$work/elf"
        check "$name has its relocations read-only" grep -q GNU_RELRO "$work/elf"
        check "$name is bound at its start" grep -qE 'FLAGS_1.*NOW' "$work/elf"
        check "$name has no executable stack" grep -qE 'GNU_STACK .* RW +' "$work/elf"
        check "$name guards its stack" sh -c 'nm -D "$1" | grep -q __stack_chk_fail' - "$binary"
    done
fi
release() { make -n BUILD="$work/build-release" RELEASE=1 "$work/build-release/obj/base/err.o" "$@"; }
check "a release is fortified" grep -q -- '-D_FORTIFY_SOURCE=2' <<<"$(release V=1)"
check "flags of the caller stand last" grep -qE -- "-std=c11 .* -O3 -DMINE" <<<"$(CPPFLAGS=-DMINE CFLAGS='-O3 -DMINE' release V=1)"
check "and those of the linker are kept" grep -q -- "-Wl,--as-needed" \
    <<<"$(LDFLAGS=-Wl,--as-needed make -n V=1 BUILD="$work/build-release" "$work/build-release/widerow")"

# The same bytes again: the archive and the library, and an object whose sources lie elsewhere.
cp "$BUILD"/libwiderow.{a,so} "$work"
touch -d '2001-01-01' "$work/stamp"
rm -f "$BUILD"/libwiderow.{a,so}
check "both libraries again" build_ "$BUILD/libwiderow.a" "$BUILD/libwiderow.so"
check "the same archive" cmp "$work/libwiderow.a" "$BUILD/libwiderow.a"
check "the same library" cmp "$work/libwiderow.so" "$BUILD/libwiderow.so"
for copy in one another; do
    mkdir -p "$work/$copy"
    cp -r Makefile VERSION src include tools "$work/$copy"
    check "an object in $copy folder" env CCACHE_DISABLE=1 make -s -C "$work/$copy" RELEASE=1 build-release/obj/base/err.o build-release/obj/engine/mem.o
done
for object in base/err.o engine/mem.o; do
    check "$object has the same bytes wherever its source lies" cmp "$work"/{one,another}/build-release/obj/$object
done

check "compile_commands.json" make -s compile_commands.json
check "names each file, with a command" python3 - <<'PYTHON'
import json, os, shlex
entries = json.load(open("compile_commands.json"))
assert len(entries) > 300 and all(os.path.exists(os.path.join(e["directory"], e["file"])) for e in entries)
assert any("src/base/err.c" == e["file"] and "-DWR_VERSION=" in e["command"] for e in entries)
PYTHON

counts install
