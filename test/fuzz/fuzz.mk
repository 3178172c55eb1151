# The fuzz program: every part of the server but the embedded engine and the sockets, compiled once with clang.
#
#   make -f test/fuzz/fuzz.mk BUILD=build

BUILD ?= build
OUT := $(BUILD)/fuzz
CC := clang
SANITIZE := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
CPPFLAGS := -Iinclude -Isrc -I$(OUT)/gen -D_GNU_SOURCE -DWR_VERSION=$(file <VERSION) -DWR_FAULTS -MMD -MP
CFLAGS := -std=c11 -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Wshadow $(SANITIZE)
LIBS := -lsqlite3 -lprotobuf-c -lcrypto -lz -lzstd -lxxhash -lpcre2-8 -licuuc -lm -pthread

SRC := $(shell find src/base src/parquet src/table src/search src/wire src/sql/run src/sql/parse src/sql/mysql -name '*.c') src/sql/calendar.c src/engine/engine.c src/engine/engine_get.c src/engine/engine_conf.c src/engine/mem.c src/engine/sorter.c src/net/address.c src/net/range.c src/net/head.c \
	$(filter-out %/main.c %/admin.c %/metrics.c,$(wildcard src/server/*.c))
PROTO := $(wildcard src/wire/proto/*.proto)
GEN := $(PROTO:src/wire/proto/%.proto=$(OUT)/gen/%.pb-c.c)
GRAMMAR := $(OUT)/gen/sql_grammar
OBJ := $(SRC:src/%.c=$(OUT)/obj/%.o) $(GEN:.c=.o) $(GRAMMAR).o
TEST := $(patsubst test/fuzz/%.c,$(OUT)/obj/fuzz/%.o,$(wildcard test/fuzz/*.c))

$(OUT)/fuzz: $(OBJ) $(TEST)
	$(CC) -fsanitize=fuzzer $(SANITIZE) -o $@ $^ $(LIBS)

# Only what is tested is watched for new paths, not the tests.
$(OUT)/obj/%.o: src/%.c | $(GEN) $(GRAMMAR).c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

$(OUT)/obj/fuzz/%.o: test/fuzz/%.c | $(GEN)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itest/fuzz $(CFLAGS) -c -o $@ $<

$(OUT)/gen/%.pb-c.c: src/wire/proto/%.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=src/wire/proto --c_out=$(OUT)/gen $<

$(GRAMMAR).c: src/sql/parse/grammar.y
	@mkdir -p $(@D)
	cp $< $(GRAMMAR).y && lemon -q $(GRAMMAR).y

$(GRAMMAR).o: $(GRAMMAR).c
	$(CC) $(CPPFLAGS) $(filter-out -W%,$(CFLAGS)) -fsanitize=fuzzer-no-link -c -o $@ $<

$(OUT)/gen/%.pb-c.o: $(OUT)/gen/%.pb-c.c
	$(CC) $(CPPFLAGS) $(filter-out -W%,$(CFLAGS)) -fsanitize=fuzzer-no-link -c -o $@ $<

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)

.SECONDARY:
