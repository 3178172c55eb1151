# Widerow. Plain `make` builds the server, the command line and the library into build/.
#
#   make run     installs what building needs, builds, starts the server on ./data
#   make test    installs what tests need, builds, runs everything (test/run.sh)
#   make deps    only installs the Debian packages for building
#   make check   for the working day: house rules, unit tests and one engine's spec; under two minutes, only what changed is built
#   make install prefix=/usr/local DESTDIR=    server, command line, library, header, pkg-config file (with RELEASE=1)
#   make tidy    house rules: include direction, headers alone, banned calls
#   make bench   side by side with peers (make bench-quick: under 5 minutes; make bench-cold: past the cache);  make nightly: the long tests; make soak: two hours
#
# RELEASE=1 leaves the fault points of tests out and builds in build-release/.
# SAN=address,undefined (or thread) builds apart, in build-<names>/, with sanitizers and without jemalloc.
# CC, CFLAGS, CPPFLAGS and LDFLAGS are the caller's: they stand behind what is always needed, and other ones build anew.

SAN ?=
comma := ,
BUILD := build$(if $(RELEASE),-release)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
ifeq ($(origin BUILD),command line)
RELEASE := $(if $(findstring -release,$(BUILD)),1)
endif
CC := gcc
VERSION := $(file <VERSION)
# The number rises when a program that was linked before would no longer run (doc/decisions/0026-build-and-library.md).
SONAME := libwiderow.so.0

prefix = /usr/local
bindir = $(prefix)/bin
libdir = $(prefix)/lib
includedir = $(prefix)/include
pkgconfigdir = $(libdir)/pkgconfig
mandir = $(prefix)/share/man

DEPS_BUILD := gcc make pkgconf librocksdb-dev libprotobuf-c-dev \
	protobuf-c-compiler libssl-dev libxxhash-dev zlib1g-dev libzstd-dev libpcre2-dev \
	libcurl4-openssl-dev libjemalloc-dev libsqlite3-dev lemon libsmartcols-dev libedit-dev libmariadb-dev libicu-dev
DEPS_TEST := libcmocka-dev libfaketime clang clang-format libclang-rt-14-dev curl python3 python3-venv nodejs \
	npm mariadb-client golang-go default-jdk-headless maven universal-ctags fiu-utils man-db tmux zsh fish
# Without them (a system that has none), the suite `rados` says that it is skipped.
DEPS_CEPH := ceph-mon ceph-osd ceph-common python3-rados librados-dev radosgw
DEPS_PACKAGE := debhelper lintian mmdebstrap systemd
DEPS_BENCH := postgresql postgresql-contrib redis-server redis-tools wrk curl mariadb-server mariadb-plugin-rocksdb \
	maven default-jdk-headless nginx-light

# V=1 shows the commands.
Q := $(if $(V),,@)
SAY := @$(if $(V),:,printf '  %s %s\n')

CFLAGS ?= $(if $(SAN),-O1,-O2) -g
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(if $(CI),-Werror)
HARDEN := -fstack-protector-strong
HARDEN_LINK := -Wl,-z,relro,-z,now,-z,noexecstack
FORTIFY := $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
# What is always needed, then the caller's own. Paths of this machine stay out of what a release holds.
ALL_CPPFLAGS = -Iinclude -Isrc -I$(BUILD)/gen -D_GNU_SOURCE -DWR_VERSION=$(VERSION) $(if $(RELEASE),,-DWR_FAULTS) \
	$(if $(RELEASE),$(FORTIFY)) $(CPPFLAGS)
ALL_CFLAGS = -std=c11 -fno-omit-frame-pointer -fPIC -fvisibility=hidden $(WARN) \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all,$(HARDEN)) $(if $(RELEASE),-ffile-prefix-map=$(CURDIR)=.) $(CFLAGS)
ALL_LDFLAGS = -pthread $(if $(SAN),-fsanitize=$(SAN),$(HARDEN_LINK)) $(LDFLAGS)

# Objects that were made with other flags are made again.
FLAGS_NOW := $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)
FLAGS := $(BUILD)/gen/flags
ifneq ($(file <$(FLAGS)),$(FLAGS_NOW))
$(shell mkdir -p $(dir $(FLAGS)))
$(file >$(FLAGS),$(FLAGS_NOW))
endif

# The engine on a Ceph pool is built where its client library is, and linked only into tests and a server of its own,
# which widerowd becomes when that engine is asked for: what serves from disk does not need Ceph.
RADOS := $(shell printf '\043include <rados/librados.h>\n' | $(CC) -E -xc - >/dev/null 2>&1 && echo yes)

LIBS_PARTS := -lxxhash -lpcre2-8 -lcrypto -lm
LIBS_LIB := -lrocksdb -licuuc $(LIBS_PARTS)
LIBS_RADOS := $(if $(RADOS),-lrados)
LIBS_WIRE := -lprotobuf-c -lcrypto -lz
LIBS_SQL := -lsqlite3 -lcrypto -lm
LIBS_SERVER := -lssl $(LIBS_WIRE)
LIBS_RECORD := -lz -lzstd
LIBS_CLI := -lcurl -lmariadb $(LIBS_RECORD) $(LIBS_WIRE)
ALLOC := $(if $(SAN),,-ljemalloc)

# The objects of a folder and all folders in it.
objs = $(patsubst src/%.c,$(BUILD)/obj/%.o,$(sort $(shell find src/$(1) -name '*.c')))
PROTO := $(wildcard src/wire/proto/*.proto)
GEN_C := $(patsubst src/wire/proto/%.proto,$(BUILD)/gen/%.pb-c.c,$(PROTO))
GEN_O := $(GEN_C:.c=.o)
RADOS_ALL_O := $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard src/engine/rados*.c))
RADOS_O := $(if $(RADOS),$(RADOS_ALL_O))
LIB_O := $(call objs,base) $(filter-out $(RADOS_ALL_O),$(call objs,engine)) $(call objs,table) $(call objs,search)
WIRE_O := $(call objs,wire) $(GEN_O)
NET_O := $(call objs,net)
GRAMMAR := $(BUILD)/gen/sql_grammar
SQL_O := $(call objs,sql) $(GRAMMAR).o
SERVER_O := $(call objs,server)
# What brings periods of series to an archive, for which it asks the database as a client does.
ARCHIVE_O := $(foreach folder,client record parquet s3 archive,$(call objs,$(folder)))
CLIENT_O := $(ARCHIVE_O) $(foreach folder,advisor bench,$(call objs,$(folder)))
CLI_O := $(CLIENT_O) $(call objs,cli)
DELAYLOAD_O := $(call objs,delayload)
# The server loads libcurl when there is an archive to write to.
DELAYLOAD_CURL_O := $(addprefix $(BUILD)/obj/delayload/,delayload.o libcurl.o)
BIN := $(BUILD)/widerowd $(BUILD)/widerow
BIN_RADOS := $(if $(RADOS),$(BUILD)/widerowd-rados)

all: $(BIN) $(BIN_RADOS) $(BUILD)/libwiderow.a $(BUILD)/libwiderow.so manual

# Man pages and the completion of shells, out of what the programs say of themselves.
MANUAL := $(addprefix $(BUILD)/man/,widerow.1 libwiderow.3 widerowd.8 widerow.conf.5) $(addprefix $(BUILD)/completion/,widerow.bash _widerow widerow.fish)
manual: $(MANUAL)
$(BUILD)/man/widerow.1: HELP := --man
$(BUILD)/completion/widerow.bash: HELP := --bash
$(BUILD)/completion/_widerow: HELP := --zsh
$(BUILD)/completion/widerow.fish: HELP := --fish
$(addprefix $(BUILD)/,man/widerow.1 completion/widerow.bash completion/_widerow completion/widerow.fish): $(BUILD)/widerow
	@mkdir -p $(@D)
	$(Q)$< help $(HELP) >$@
$(BUILD)/man/libwiderow.3: include/widerow.h tools/manual.sh VERSION
	@mkdir -p $(@D)
	$(Q)tools/manual.sh 3 $< >$@
$(BUILD)/man/widerowd.8 $(BUILD)/man/widerow.conf.5: $(BUILD)/widerowd tools/manual.sh
	@mkdir -p $(@D)
	$(Q)tools/manual.sh $(patsubst .%,%,$(suffix $@)) $< >$@

$(BUILD)/widerowd-rados: $(RADOS_O)
$(BUILD)/widerowd $(BUILD)/widerowd-rados: $(SERVER_O) $(ARCHIVE_O) $(DELAYLOAD_CURL_O) $(SQL_O) $(NET_O) $(WIRE_O) $(LIB_O)
	$(SAY) LD $@
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(LIBS_SQL) $(LIBS_SERVER) $(LIBS_RECORD) $(LIBS_LIB) $(if $(filter %-rados,$@),$(LIBS_RADOS)) $(ALLOC)

# The command line loads the database and libcurl when a command needs them (src/delayload): of the library's objects it
# takes those that it uses itself, and none that knows the engine, whose libraries are not linked.
$(BUILD)/widerow: $(CLI_O) $(DELAYLOAD_O) $(WIRE_O) $(BUILD)/obj/parts.a $(BUILD)/$(SONAME)
	$(SAY) LD $@
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -Wl,--as-needed -o $@ $(filter %.o %.a,$^) $(LIBS_RECORD) $(LIBS_WIRE) $(LIBS_PARTS) $(ALLOC)

$(BUILD)/obj/parts.a: $(LIB_O)
	@rm -f $@
	$(Q)ar rcsTD $@ $^

$(BUILD)/$(SONAME): $(BUILD)/libwiderow.so
	$(Q)ln -sf $(<F) $@

# The static library is one object whose hidden names are made local, so that a program which embeds it can use
# any name but wr_*.
$(BUILD)/libwiderow.a: $(LIB_O)
	@rm -f $@
	$(Q)$(CC) -r -nostdlib -o $(BUILD)/libwiderow.o $^
	$(Q)objcopy --localize-hidden $(BUILD)/libwiderow.o
	$(Q)ar rcsD $@ $(BUILD)/libwiderow.o

$(BUILD)/libwiderow.so: $(LIB_O) src/libwiderow.map
	$(SAY) LD $@
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=src/libwiderow.map $(if $(SAN),,-Wl,-z,defs) $(ALL_LDFLAGS) \
		-o $@ $(filter %.o,$^) $(LIBS_LIB)

$(BUILD)/obj/%.o: src/%.c $(FLAGS) | $(GEN_C) $(GRAMMAR).c
	@mkdir -p $(@D)
	$(SAY) CC $<
	$(Q)$(CC) -MMD -MP $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/gen/%.pb-c.c: src/wire/proto/%.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=src/wire/proto --c_out=$(BUILD)/gen $<

# Lemon writes beside what it reads.
$(GRAMMAR).c $(GRAMMAR).h &: src/sql/parse/grammar.y
	@mkdir -p $(@D)
	$(Q)cp $< $(GRAMMAR).y && lemon -q $(GRAMMAR).y && touch $(GRAMMAR).h

$(GRAMMAR).o: $(GRAMMAR).c $(FLAGS)
	$(SAY) CC $<
	$(Q)$(CC) -MMD -MP $(ALL_CPPFLAGS) $(filter-out -W%,$(ALL_CFLAGS)) -c -o $@ $<

$(BUILD)/gen/%.pb-c.o: $(BUILD)/gen/%.pb-c.c $(FLAGS)
	$(SAY) CC $<
	$(Q)$(CC) -MMD -MP $(ALL_CPPFLAGS) $(filter-out -W%,$(ALL_CFLAGS)) -c -o $@ $<

# Unit tests: test/unit/ mirrors src/, one program a file.
UNIT := $(patsubst test/unit/%.c,$(BUILD)/test/%,$(filter-out $(if $(RADOS),,%/rados_omap_test.c),$(sort $(shell find test/unit -name '*_test.c'))))

$(BUILD)/test/%: test/unit/%.c $(SQL_O) $(NET_O) $(WIRE_O) $(LIB_O) $(RADOS_O) $(filter-out %/main.o,$(SERVER_O) $(CLI_O))
	@mkdir -p $(@D)
	$(SAY) LD $@
	$(Q)$(CC) -MMD -MP $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(filter %.o,$^) -lcmocka $(LIBS_CLI) $(LIBS_SQL) $(LIBS_SERVER) $(LIBS_LIB) $(LIBS_RADOS)

unit: $(UNIT)

# Larger test programs: every .c of their folder, with the library, the wire layer and the client.
TEST_PROGRAMS := spec model index hits crash linear hostile backup io soak versions rados lucene series retention
TEST_O := $(WIRE_O) $(LIB_O) $(RADOS_O) $(filter-out %/main.o,$(CLI_O))

define TEST_PROGRAM
$(BUILD)/test/$(1): $(filter-out %/preload.c,$(wildcard test/$(1)/*.c)) $(wildcard test/$(1)/*.h) $(TEST_O)
	@mkdir -p $$(@D)
	$$(SAY) LD $$@
	$$(Q)$$(CC) -MMD -MP $$(ALL_CPPFLAGS) $$(ALL_CFLAGS) $$(ALL_LDFLAGS) -o $$@ $$(filter %.c %.o,$$^) $$(LIBS_CLI) $$(LIBS_LIB) $$(LIBS_RADOS)
endef
$(foreach program,$(TEST_PROGRAMS),$(eval $(call TEST_PROGRAM,$(program))))

# It sets the clock as the model does.
$(BUILD)/test/index: ALL_CPPFLAGS += -Itest/model
$(BUILD)/test/index: test/model/clock.c

# It has a MySQL port of its own, and says there what the scripts' third door says.
$(BUILD)/test/model: ALL_CPPFLAGS += -Itest/spec
$(BUILD)/test/model: LIBS_CLI += $(LIBS_SQL) $(LIBS_SERVER)
$(BUILD)/test/model: test/spec/door_beside.c test/spec/door_beside.h $(SQL_O) $(NET_O)

# It plants the same bug in the engine.
$(BUILD)/test/linear: ALL_CPPFLAGS += -Itest/index
$(BUILD)/test/linear: test/index/plant.c

# They start and ask servers as the crash tests do.
$(BUILD)/test/io $(BUILD)/test/soak $(BUILD)/test/versions: ALL_CPPFLAGS += -Itest/crash
$(BUILD)/test/io: test/crash/bed.c test/crash/server.c test/crash/door.c test/crash/tree.c
$(BUILD)/test/soak: test/crash/bed.c test/crash/server.c test/crash/door.c
$(BUILD)/test/versions: test/crash/door.c test/crash/bed.c

# What is loaded in front of the server's own libc calls; never with sanitizers.
PRELOADS := $(BUILD)/test/crash_preload.so $(BUILD)/test/io_preload.so $(BUILD)/test/rados_preload.so

$(BUILD)/test/crash_preload.so: test/crash/preload/preload.c test/crash/preload/record.h
$(BUILD)/test/io_preload.so: test/io/preload.c
$(BUILD)/test/rados_preload.so: test/rados/preload.c
$(PRELOADS):
	@mkdir -p $(@D)
	$(SAY) LD $@
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(WARN) -fPIC -shared -o $@ $< -ldl

tests: unit $(addprefix $(BUILD)/test/,$(TEST_PROGRAMS)) $(PRELOADS) $(BUILD)/bench/evict

deps:
	@tools/deps.sh $(DEPS_BUILD)

deps-test: deps
	@tools/deps.sh $(DEPS_TEST)
	@tools/deps.sh $(DEPS_CEPH) || echo 'No Ceph here: the engine on its pools is neither built nor tested.'

run: deps
	@$(MAKE) --no-print-directory -j2 all
	@exec $(BUILD)/widerowd --data data

test: deps-test
	@$(MAKE) --no-print-directory -j2 all tests
	@BUILD=$(BUILD) SAN=$(SAN) test/run.sh

check:
	@$(MAKE) --no-print-directory -j2 all unit $(BUILD)/test/spec
	@BUILD=$(BUILD) SAN=$(SAN) test/run.sh tidy unit spec-mem-library

nightly: deps-test
	@tools/deps.sh $(DEPS_PACKAGE)
	@$(MAKE) --no-print-directory -j2 all tests
	@BUILD=$(BUILD) TIER=nightly test/run.sh

# The part of the nightly run that takes two hours by itself.
soak: deps-test
	@$(MAKE) --no-print-directory -j2 all tests
	@BUILD=$(BUILD) TIER=soak test/run.sh soak

# What is measured beside: ceilings, and a client of MariaDB; and what empties the page cache. One program a file. They
# are built with RELEASE=1, since fault points are compiled in without it.
BENCH := $(addprefix $(BUILD)/bench/,raw_rocks echo evict mariadb search search_live search_http)

$(BUILD)/bench/raw_rocks: bench/raw_rocks.c $(BUILD)/obj/wire/sign.o $(LIB_O)
$(BUILD)/bench/echo: bench/echo.c $(NET_O) $(call objs,base)
$(BUILD)/bench/evict: bench/evict.c
$(BUILD)/bench/search: ALL_CPPFLAGS += -Itest/lucene
$(BUILD)/bench/search: bench/search.c test/lucene/told.c $(LIB_O)
$(BUILD)/bench/search_live: bench/search_live.c $(LIB_O)
# As `widerow`, which loads the database and libcurl when they are needed.
$(BUILD)/bench/search_http: bench/search_http.c $(foreach folder,client record cli/console,$(call objs,$(folder))) $(DELAYLOAD_O) $(WIRE_O) $(BUILD)/obj/parts.a $(BUILD)/$(SONAME)
$(BUILD)/bench/mariadb: bench/peers/mariadb.c $(BUILD)/obj/bench/bench_zipf.o $(BUILD)/obj/base/rng.o
$(BENCH):
	@mkdir -p $(@D)
	$(SAY) LD $@
	$(Q)$(CC) -MMD -MP $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(if $(filter %/mariadb,$@),-I/usr/include/mariadb) -o $@ $(filter %.c %.o %.a,$^) \
		$(if $(filter %/mariadb,$@),-lmariadb -lm,$(if $(filter %/search_http,$@),$(LIBS_RECORD) $(LIBS_WIRE) $(LIBS_PARTS) $(ALLOC),$(LIBS_LIB) -lssl -ljemalloc))

# A peer that is missing costs its own lines of the table only, so what cannot be had does not stop the run.
bench bench-quick bench-cold: deps
	@tools/deps.sh $(DEPS_BENCH) || for p in $(DEPS_BENCH); do tools/deps.sh $$p; done || true
	@$(MAKE) --no-print-directory -j2 RELEASE=1 all
	@$(MAKE) --no-print-directory -j2 -k RELEASE=1 bench-programs || true
	@BUILD=build-release bench/run.sh $(patsubst bench-%,%,$(patsubst bench,bench-full,$@))

# SQL beside PostgreSQL and InnoDB.
bench-sql: deps
	@tools/deps.sh $(DEPS_BENCH) || for p in $(DEPS_BENCH); do tools/deps.sh $$p; done || true
	@$(MAKE) --no-print-directory -j2 RELEASE=1 all build-release/bench/mariadb
	@BUILD=build-release bench/sql.sh

bench-programs: $(BENCH)

# Builds as whoever calls it; only copying needs rights.
install: all
	install -d $(addprefix $(DESTDIR),$(bindir) $(libdir) $(includedir) $(pkgconfigdir))
	install -m 755 $(BIN) $(DESTDIR)$(bindir)
	$(if $(RADOS),install -Dm 755 -t $(DESTDIR)$(prefix)/lib/widerow $(BIN_RADOS))
	install -Dm 644 -t $(DESTDIR)$(mandir)/man1 $(BUILD)/man/widerow.1
	install -Dm 644 -t $(DESTDIR)$(mandir)/man3 $(BUILD)/man/libwiderow.3
	install -Dm 644 -t $(DESTDIR)$(mandir)/man5 $(BUILD)/man/widerow.conf.5
	install -Dm 644 -t $(DESTDIR)$(mandir)/man8 $(BUILD)/man/widerowd.8
	install -Dm 644 $(BUILD)/completion/widerow.bash $(DESTDIR)$(prefix)/share/bash-completion/completions/widerow
	install -Dm 644 -t $(DESTDIR)$(prefix)/share/zsh/vendor-completions $(BUILD)/completion/_widerow
	install -Dm 644 -t $(DESTDIR)$(prefix)/share/fish/vendor_completions.d $(BUILD)/completion/widerow.fish
	install -m 644 include/widerow.h include/widerow_search.h include/widerow_load.h $(DESTDIR)$(includedir)
	install -m 644 $(BUILD)/libwiderow.a $(DESTDIR)$(libdir)
	install -m 755 $(BUILD)/libwiderow.so $(DESTDIR)$(libdir)/libwiderow.so.$(VERSION)
	ln -sf libwiderow.so.$(VERSION) $(DESTDIR)$(libdir)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(libdir)/libwiderow.so
	sed 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|; s|@libs@|$(LIBS_LIB)|' \
		src/widerow.pc.in >$(DESTDIR)$(pkgconfigdir)/widerow.pc

# For editors and clang-tidy: how each file is compiled.
compile_commands.json: $(GEN_C)
	$(SAY) GEN $@
	@tools/compile_commands.sh '$(CC) $(ALL_CPPFLAGS) -Itest/crash $(ALL_CFLAGS)' >$@

tidy:
	@tools/tidy.sh

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all manual unit tests bench bench-quick bench-cold bench-sql bench-programs deps deps-test run test check install compile_commands.json nightly soak tidy clean
.SECONDARY:
