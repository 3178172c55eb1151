#!/usr/bin/env bash
# `widerow advise` on generated records: its verdicts, its speed and memory, and what it says to bad input.
set -u
cd "$(dirname "$0")/../.."
exec python3 -B test/advise/check.py "${BUILD:-build}/widerow" "${TIER:-short}" "${SAN:-}"
