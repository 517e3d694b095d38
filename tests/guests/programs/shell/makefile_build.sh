#!/bin/bash
# Write a Makefile with variables, pattern rules and phony targets; run it twice.
set -e
cat > Makefile <<'MK'
SRCS := $(wildcard src/*.txt)
OUTS := $(patsubst src/%.txt,out/%.up,$(SRCS))
NAME ?= world

.PHONY: all clean hello
all: $(OUTS) out/all.txt

out/%.up: src/%.txt | out
	@echo "building $@ from $<"
	@tr a-z A-Z < $< > $@

out/all.txt: $(OUTS)
	@cat $^ > $@
	@echo "joined $(words $^) files"

out:
	@mkdir -p $@

hello:
	@echo "hello $(NAME)"; echo "shell is $$HOME" | cut -c1-8

clean:
	rm -rf out
MK
mkdir -p src
echo alpha > src/a.txt
echo beta > src/b.txt
make
echo "--- again"
make
echo "--- touch one"
sleep 1.1
echo gamma > src/b.txt
make
cat out/all.txt
make -s hello NAME=make
make clean
ls
make nothing 2>&1 | sed 's/make\[[0-9]*\]/make/' || true
