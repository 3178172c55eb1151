# The client of test/hostile, from the objects that the main Makefile has built.
BUILD ?= build
SAN ?=
comma := ,
OBJ := $(wildcard $(BUILD)/obj/base/*.o $(BUILD)/obj/wire/*.o $(BUILD)/gen/*.o)

$(BUILD)/test/hostile: $(wildcard test/hostile/*.c test/hostile/*.h) $(OBJ)
	@mkdir -p $(@D)
	gcc -std=c11 -O2 -g -D_GNU_SOURCE -Iinclude -Isrc -Wall -Wextra -Wshadow -Wstrict-prototypes \
		-Wmissing-prototypes $(if $(SAN),-fsanitize=$(SAN)) -o $@ $(filter %.c %.o,$^) -lprotobuf-c -lcrypto -lz -pthread
