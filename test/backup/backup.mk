# The client of test/backup, from the objects that the main Makefile has built.
BUILD ?= build
SAN ?=
OBJ := $(wildcard $(BUILD)/obj/base/*.o $(BUILD)/obj/engine/*.o $(BUILD)/obj/table/*.o $(BUILD)/obj/wire/*.o \
	$(BUILD)/gen/*.o) $(filter-out %/main.o,$(wildcard $(BUILD)/obj/cli/*.o))

$(BUILD)/test/backup: $(wildcard test/backup/*.c test/backup/*.h) $(OBJ)
	@mkdir -p $(@D)
	gcc -std=c11 -O2 -g -D_GNU_SOURCE -Iinclude -Isrc -Wall -Wextra -Wshadow -Wstrict-prototypes \
		-Wmissing-prototypes $(if $(SAN),-fsanitize=$(SAN)) -o $@ $(filter %.c %.o,$^) -lcurl -lprotobuf-c -lcrypto \
		-lz -lrocksdb -lxxhash -lpcre2-8 -lm -pthread
