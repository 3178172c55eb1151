#!/usr/bin/env python3
"""Who knows whom in src/, and where that runs in a circle.

    tools/graph.py [BUILD]            prints the figures: files, lines, folders, knots between files and between folders
    tools/graph.py --why A B [BUILD]  prints what makes an arrow from folder A to folder B (table/row table/blob, say)
    tools/graph.py --check [BUILD]    prints only knots that may not be: any of folders, and those of files that are not in ALLOWED

A module is a source with its header, or a header alone. Two graphs are drawn between modules: one by what their
objects in BUILD (build) call of each other (nm), one by what they include. A knot is a set of modules that all reach
each other.
"""
import collections
import os
import re
import subprocess
import sys

# Files that may know each other. The list gets shorter, not longer, but for what is recursive by nature: an expression of
# SQL holds others, and SELECTs; a search's query holds others, a group its own groups.
ALLOWED = [
    set(line.split())
    for line in """
    advisor/advise advisor/advise_rule
    client/http client/http_cell
    engine/backends engine/engine
    net/conn net/exchange net/queue net/relief
    net/http_own net/head net/http
    record/record record/record_json
    search/query/compile search/query/score_node search/query/vector_node
    search/result/collectors search/result/group
    sql/run/render_call sql/run/render_compare sql/run/render_expr sql/run/render_select sql/run/render_window
    table/core/clock_watch table/core/db table/core/db_clock
    table/row/write table/row/write_ahead table/row/write_atomic table/row/write_inside
    table/stats/heat table/stats/heat_own
    wire/ots_search_query wire/ots_search_score wire/ots_search_sort
    """.strip().splitlines()
]

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sources():
    """Every source and header of src/, as paths relative to it. What stands in for a library (src/delayload) has the names
    of that library's functions and calls nothing."""
    found = []
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        for name in names if not folder.endswith("/delayload") else []:
            if name.endswith((".c", ".h")):
                found.append(os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, "src")))
    return sorted(found)


def include_graph(files):
    """{(module, module): the include lines that make the arrow}"""
    known = set(files)
    edges = collections.defaultdict(list)
    for path in files:
        with open(os.path.join(ROOT, "src", path)) as f:
            for number, line in enumerate(f, 1):
                m = re.match(r'#include "([^"]+)"', line)
                if m and m.group(1) in known and module(m.group(1)) != module(path):
                    edges[module(path), module(m.group(1))].append(f"src/{path}:{number}")
    return edges


def link_graph(modules, build):
    """{(module, module): the names that the first one takes from the second}"""
    defined, wanted = {}, {}
    for m in modules:
        path = os.path.join(build, "obj", m + ".o")
        if not os.path.exists(path):
            continue
        wanted[m] = set()
        for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                wanted[m].add(name)
            elif kind in "TDBRVWC":
                defined.setdefault(name, m)
    edges = collections.defaultdict(list)
    for m, names in wanted.items():
        for name in sorted(names):
            if name in defined and defined[name] != m:
                edges[m, defined[name]].append(name)
    return edges


def module(path):
    return path.rsplit(".", 1)[0]


def folder(mod):
    return os.path.dirname(mod)


def knots(nodes, edges):
    """Sets of nodes that all reach each other (Tarjan's strongly connected components), largest first."""
    out = collections.defaultdict(list)
    for a, b in edges:
        out[a].append(b)
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(root):
        work = [(root, iter(out[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for nxt in rest:
                if nxt not in index:
                    index[nxt] = low[nxt] = len(index)
                    stack.append(nxt)
                    on_stack.add(nxt)
                    work.append((nxt, iter(out[nxt])))
                    break
                if nxt in on_stack:
                    low[node] = min(low[node], index[nxt])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1:
                        found.append(sorted(group))

    for node in sorted(nodes):
        if node not in index:
            visit(node)
    return sorted(found, key=lambda g: (-len(g), g))


def between_folders(edges):
    """{(folder, folder): [(module, module, why)]}"""
    out = collections.defaultdict(list)
    for (a, b), why in edges.items():
        if folder(a) != folder(b):
            out[folder(a), folder(b)].append((a, b, why))
    return out


def why(edges, a, b):
    for x, y, reasons in sorted(between_folders(edges)[a, b]):
        print(f"  {x} -> {y}: {' '.join(reasons)}")


def check(name, modules, edges):
    """Prints the knots that may not be."""
    for g in knots(modules, edges):
        if not any(set(g) <= allowed for allowed in ALLOWED):
            print(f"  {name} graph, files: {' '.join(g)}")
    for g in knots({folder(m) for m in modules}, between_folders(edges)):
        print(f"  {name} graph, folders: {' '.join(g)}")


def main(args):
    asked = args[1:3] if args[:1] == ["--why"] else []
    checks = args[:1] == ["--check"]
    build = (args[3:] if asked else args[1:] if checks else args)[:1] or ["build"]
    files = sources()
    modules = sorted({module(f) for f in files})
    graphs = {"link": link_graph(modules, os.path.join(ROOT, build[0])), "include": include_graph(files)}
    if asked:
        for name, edges in graphs.items():
            print(name)
            why(edges, *asked)
        return
    if checks:
        for name, edges in graphs.items():
            check(name, modules, edges)
        return
    lines = sum(open(os.path.join(ROOT, "src", f)).read().count("\n") for f in files)
    print(f"{len(files)} files, {lines} lines, {len({folder(m) for m in modules})} folders")
    for name, edges in graphs.items():
        groups = knots(modules, edges)
        print(f"{name} graph: knots of files {' '.join(str(len(g)) for g in groups) or 'none'}")
        for g in groups:
            print("  " + " ".join(g))
        folders = knots({folder(m) for m in modules}, between_folders(edges))
        print(f"{name} graph: knots of folders {' '.join(str(len(g)) for g in folders) or 'none'}")
        for g in folders:
            print("  " + " ".join(g))


if __name__ == "__main__":
    main(sys.argv[1:])
