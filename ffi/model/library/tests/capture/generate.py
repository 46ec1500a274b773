"""Writes the capture programs: programs written for one topic each, programs about
conditional nodes, and random programs from a seed.

    python3 generate.py themes > themes.programs
    python3 generate.py conditional > conditional.programs
    python3 generate.py random FIRST COUNT > random.programs
"""
import random
import sys

MODES = ["global", "thread-local", "relaxed"]
programs = {}


def program(name, text):
    assert name not in programs, name
    lines = [line.strip() for line in text.strip().splitlines()]
    programs[name] = [line for line in lines if line]


def begin(mode="relaxed", stream="a"):
    return f"begin {stream} mode {mode}"


# ---- what each mode forbids ------------------------------------------------

# A call, and the calls that it needs before the capture begins.
SAFE_AND_UNSAFE = {
    "malloc": ("", "malloc q 1MiB"),
    "free": ("malloc q 1MiB", "free q"),
    "free-null": ("", "free null"),
    "pinned": ("", "pinned h 4096"),
    "host-alloc": ("", "host-alloc h 4096"),
    "free-pinned": ("pinned h 4096", "free-pinned h"),
    "register": ("pageable h 65536", "register h 65536"),
    "unregister": ("pageable h 65536\nregister h 65536", "unregister h"),
    "managed": ("", "managed q 4096"),
    "mem-get-info": ("", "mem-get-info"),
    "pointer-attributes": ("malloc q 4096", "pointer-attributes q"),
    "device-sync": ("", "device-sync"),
    "stream": ("", "stream n"),
    "destroy-stream": ("stream n", "destroy-stream n"),
    "stream-flags": ("stream n", "stream-flags n"),
    "sync-other": ("stream n", "sync n"),
    "query-other": ("stream n", "query n"),
    "sync-own": ("", "sync a"),
    "query-own": ("", "query a"),
    "sync-legacy": ("", "sync legacy"),
    "query-legacy": ("", "query legacy"),
    "sync-per-thread": ("", "sync per-thread"),
    "flags-own": ("", "stream-flags a"),
    "priority-own": ("", "stream-priority a"),
    "event": ("", "event n"),
    "destroy-event": ("event n", "destroy-event n"),
    "query-event": ("event n\nrecord n on b\nsync b", "query-event n"),
    "sync-event": ("event n\nrecord n on b\nsync b", "sync-event n"),
    "query-event-new": ("event n", "query-event n"),
    "elapsed": ("event m flags 0\nevent n flags 0\nrecord m on b\nrecord n on b\nsync b", "elapsed m n"),
    "record-other": ("event n", "record n on b"),
    "record-legacy": ("event n", "record n on legacy"),
    "wait-other": ("event n\nrecord n on b\nsync b", "wait b for n"),
    "wait-legacy": ("event n\nrecord n on b\nsync b", "wait legacy for n"),
    "pool-get": ("default-pool p", "pool-get p 4"),
    "pool-set": ("default-pool p", "pool-set p 4 0"),
    "pool-trim": ("default-pool p", "pool-trim p"),
    "default-pool": ("", "default-pool p"),
    "current-pool": ("", "current-pool p"),
    "pool-create": ("", "pool p"),
    "pool-destroy": ("pool p", "destroy-pool p"),
    "set-pool": ("default-pool p", "set-pool p"),
    "trim": ("", "trim"),
    "attributes": ("", "attributes"),
    "set-attribute": ("", "set-attribute 1"),
    "graph": ("", "graph g"),
    "destroy-graph": ("graph g", "destroy-graph g"),
    "clone": ("graph g\nempty e in g", "clone h of g"),
    "add-node": ("graph g", "kernel k in g"),
    "instantiate": ("graph g\nkernel k in g", "instantiate x of g"),
    "destroy-exec": ("graph g\nkernel k in g\ninstantiate x of g", "destroy-exec x"),
    "launch-other": ("graph g\nkernel k in g\ninstantiate x of g", "launch x on b"),
    "launch-own": ("graph g\nkernel k in g\ninstantiate x of g", "launch x on a"),
    "upload-other": ("graph g\nkernel k in g\ninstantiate x of g", "upload x on b"),
    "upload-own": ("graph g\nkernel k in g\ninstantiate x of g", "upload x on a"),
    "update-exec": ("graph g\nkernel k in g\ninstantiate x of g", "update-exec x g"),
    "load-library": ("", "load-library"),
    "function-attributes": ("", "function-attributes"),
    "occupancy": ("", "occupancy"),
    "device-attribute": ("", "device-attribute"),
    "device-properties": ("", "device-properties"),
    "set-device": ("", "set-device 0"),
    "get-device": ("", "get-device"),
    "get-limit": ("", "get-limit"),
    "set-limit": ("", "set-limit"),
    "last-error": ("", "last-error"),
    "kernel-other": ("", "kernel on b"),
    "kernel-legacy": ("", "kernel on legacy"),
    "kernel-per-thread": ("", "kernel on per-thread"),
    "memset-sync": ("malloc q 4096", "memset q 4096"),
    "memset-other": ("malloc q 4096", "memset-async q 4096 on b"),
    "memset-legacy": ("malloc q 4096", "memset-async q 4096 on legacy"),
    "mallocasync-other": ("", "mallocasync q 4096 on b"),
    "mallocasync-legacy": ("", "mallocasync q 4096 on legacy"),
    "freeasync-other": ("mallocasync q 4096 on b\nsync b", "freeasync q on b"),
    "freeasync-own-plain": ("mallocasync q 4096 on b\nsync b", "freeasync q on a"),
    "freeasync-own-malloc": ("malloc q 4096", "freeasync q on a"),
    "host-other": ("", "host-function on b"),
    "host-legacy": ("", "host-function on legacy"),
    "copy-sync-h2d": ("malloc q 4096\npageable h 4096", "copy q h 4096 h2d"),
    "copy-sync-pinned": ("malloc q 4096\npinned h 4096", "copy q h 4096 h2d"),
    "copy-sync-d2h": ("malloc q 4096\npageable h 4096", "copy h q 4096 d2h"),
    "copy-sync-d2d": ("malloc q 4096", "copy q q+2048 1024 d2d"),
    "copy-sync-h2h": ("pageable h 4096\npageable k 4096", "copy h k 4096 h2h"),
    "copy-other": ("malloc q 4096\npinned h 4096", "copy-async q h 4096 h2d on b"),
    "copy-legacy": ("malloc q 4096\npinned h 4096", "copy-async q h 4096 h2d on legacy"),
    "prefetch-own": ("managed q 65536", "prefetch q 65536 on a"),
    "prefetch-other": ("managed q 65536", "prefetch q 65536 on b"),
    "begin-own": ("", "begin a mode relaxed"),
    "begin-other": ("", "begin b mode relaxed"),
    "begin-legacy": ("", "begin legacy mode relaxed"),
    "end-other": ("", "end b as g"),
    "end-legacy": ("", "end legacy as g"),
    "capturing-legacy": ("", "capturing legacy"),
    "capturing-own": ("", "capturing a"),
    "info-legacy": ("", "info legacy"),
}


def theme_modes():
    # In the capturing thread, once in a capture of each mode.
    for name, (before, line) in SAFE_AND_UNSAFE.items():
        program(f"mode-{name}", "stream a\nstream b\n" + "".join(f"""
            {before}
            {begin(mode)}
            kernel on a
            {line}
            kernel on a
            end a as made
            last-error
        """ for mode in MODES))
    # The same calls in another thread, and in the same thread after an exchange of its
    # mode.
    for name in ["malloc", "free", "pinned", "mem-get-info", "device-sync", "pool-get", "query-event", "sync-other",
                 "query-own", "sync-own", "stream", "destroy-stream", "event", "destroy-event", "instantiate",
                 "launch-other", "copy-sync-h2d", "memset-sync", "load-library", "sync-event", "mallocasync-other",
                 "kernel-legacy", "trim", "attributes", "destroy-exec", "upload-other"]:
        before, line = SAFE_AND_UNSAFE[name]
        program(f"thread-{name}", "stream a\nstream b\n" + "".join(f"""
            {before}
            {begin(mode)}
            @1 {line}
            @1 last-error
            kernel on a
            end a as made
            last-error
        """ for mode in MODES))
        program(f"exchange-{name}", f"""
            stream a
            stream b
            {before}
            begin a mode global
            exchange-mode relaxed
            {line}
            exchange-mode global
            kernel on a
            end a as made
            exchange-mode thread-local
        """)
    for own in MODES:
        for mode in MODES:
            program(f"exchange-other-{own}-{mode}", f"""
                stream a
                stream b
                @1 exchange-mode {own}
                begin a mode {mode}
                @1 malloc q 4096
                kernel on a
                end a as g
                @1 exchange-mode relaxed
            """)
            program(f"exchange-own-{own}-{mode}", f"""
                stream a
                exchange-mode {own}
                begin a mode {mode}
                malloc q 4096
                kernel on a
                end a as g
                exchange-mode relaxed
            """)
    # A blocking stream that captures, together with the legacy default stream.
    for name in ["kernel-legacy", "memset-legacy", "mallocasync-legacy", "record-legacy", "wait-legacy", "host-legacy",
                 "copy-legacy", "sync-legacy", "query-legacy", "begin-legacy", "end-legacy", "capturing-legacy",
                 "info-legacy", "memset-sync", "copy-sync-h2d", "copy-sync-d2d", "kernel-per-thread", "kernel-other",
                 "device-sync", "malloc", "free"]:
        before, line = SAFE_AND_UNSAFE[name]
        program(f"blocking-{name}", "stream a flags 0\nstream b\n" + "".join(f"""
            {before}
            {begin(mode)}
            kernel on a
            {thread}{line}
            {thread}last-error
            kernel on a
            end a as made
            last-error
        """ for mode, thread in [("global", ""), ("relaxed", ""), ("relaxed", "@1 ")]))


# ---- fork and join ----------------------------------------------------------

HEAD = """
stream a
stream b
stream c
event e
event f
event g
"""


def theme_forks():
    def fork(name, text):
        program(f"fork-{name}", HEAD + text)

    fork("simple", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\n"
         "wait a for f\nkernel on a\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a")
    fork("at-once", "begin a mode global\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\nwait a for f\nend a as r")
    fork("empty", "begin a mode relaxed\nend a as r\ninstantiate x of r\nlaunch x on a")
    fork("empty-join", "begin a mode relaxed\nrecord e on a\nwait b for e\nrecord f on b\nwait a for f\nend a as r")
    fork("unjoined-empty", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nend a as r")
    fork("unjoined-at-once", "begin a mode relaxed\nrecord e on a\nwait b for e\nend a as r")
    fork("unjoined-work", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nend a as r\nkernel on b\nkernel on a")
    fork("unjoined-then-again", "begin a mode relaxed\nrecord e on a\nwait b for e\nkernel on b\nend a as r\nbegin a mode relaxed\nkernel on a\nend a as s")
    fork("unjoined-after-join", "begin a mode relaxed\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\nwait a for f\nkernel on b\nend a as r")
    fork("joined-by-other", "begin a mode relaxed\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\nwait c for f\nkernel on c\nrecord g on c\nwait a for g\nend a as r")
    fork("ended-by-other", "begin a mode relaxed\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\nwait a for f\nend b as r\nend a as s")
    fork("ended-by-other-unjoined", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nend b as r\nkernel on b\nend a as s")
    fork("wait-twice", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nwait b for e\nkernel on b\nrecord f on b\nwait a for f\nwait a for f\nkernel on a\nend a as r")
    fork("wait-own", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait a for e\nkernel on a\nwait a for e\nkernel on a\nend a as r")
    fork("older-point", "begin a mode relaxed\nkernel on a\nrecord e on a\nkernel on a\nkernel on a\nwait b for e\nkernel on b\nrecord f on b\nwait a for f\nkernel on a\nend a as r")
    fork("two-points", "begin a mode relaxed\nkernel on a\nrecord e on a\nkernel on a\nrecord f on a\nwait b for e\nwait b for f\nkernel on b\nrecord g on b\nwait a for g\nkernel on a\nend a as r")
    fork("two-points-reversed", "begin a mode relaxed\nkernel on a\nrecord e on a\nkernel on a\nrecord f on a\nwait b for f\nwait b for e\nkernel on b\nrecord g on b\nwait a for g\nkernel on a\nend a as r")
    fork("three-join-one", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nwait c for e\nkernel on b\nkernel on c\nrecord f on b\nrecord g on c\nwait a for f\nwait a for g\nkernel on a\nend a as r")
    fork("diamond-without-work", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nwait c for e\nrecord f on b\nrecord g on c\nwait a for f\nwait a for g\nkernel on a\nend a as r")
    fork("join-without-work-after", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\nkernel on a\nwait a for f\nend a as r")
    fork("record-of-two-tips", "begin a mode relaxed\nrecord e on a\nwait b for e\nkernel on a\nkernel on b\nrecord f on b\nwait a for f\nrecord g on a\nwait c for g\nkernel on c\nrecord e on c\nwait a for e\nkernel on a\nend a as r")
    fork("rerecord", "begin a mode relaxed\nkernel on a\nrecord e on a\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nrecord e on b\nwait a for e\nkernel on a\nend a as r")
    fork("event-after-end", "begin a mode relaxed\nkernel on a\nrecord e on a\nend a as r\nquery-event e\nsync-event e\nwait b for e\nkernel on b\nrecord f on b\nsync b\nrecord e on a\nsync-event e\nwait b for e")
    fork("event-into-next-capture", "begin a mode relaxed\nkernel on a\nrecord e on a\nend a as r\nbegin a mode relaxed\nkernel on a\nwait a for e\nkernel on a\nend a as s")
    fork("event-into-next-capture-other", "begin a mode relaxed\nkernel on a\nrecord e on a\nend a as r\nbegin b mode relaxed\nwait b for e\nend b as s")
    fork("event-before", "kernel on a\nrecord e on a\nbegin a mode relaxed\nwait a for e\nkernel on a\nend a as r")
    fork("event-before-other", "kernel on b\nrecord e on b\nbegin a mode relaxed\nkernel on a\nwait a for e\nkernel on a\nend a as r")
    fork("event-never-recorded", "begin a mode relaxed\nkernel on a\nwait a for e\nkernel on a\nend a as r")
    fork("event-never-recorded-other", "begin a mode relaxed\nwait b for e\nkernel on b\nend a as r")
    fork("external-record", "begin a mode relaxed\nkernel on a\nrecord e on a flags 1\nkernel on a\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a\nquery-event e")
    fork("external-wait", "record e on b\nbegin a mode relaxed\nkernel on a\nwait a for e flags 1\nkernel on a\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a")
    fork("external-wait-new", "begin a mode relaxed\nwait a for e flags 1\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a")
    fork("external-wait-captured", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait a for e flags 1\nkernel on a\nend a as r")
    fork("external-record-then-wait", "begin a mode relaxed\nkernel on a\nrecord e on a flags 1\nwait b for e\nkernel on b\nend a as r")
    fork("external-outside", "record e on a flags 1\nwait a for e flags 1\nkernel on a")
    fork("bad-flags", "begin a mode relaxed\nkernel on a\nrecord e on a flags 2\nwait a for e flags 2\nrecord e on a\nwait b for e flags 2\nend a as r")
    fork("query-captured-event", "begin a mode relaxed\nkernel on a\nrecord e on a\nquery-event e\nkernel on a\nend a as r\nquery-event e")
    fork("sync-captured-event", "begin a mode relaxed\nkernel on a\nrecord e on a\nsync-event e\nkernel on a\nend a as r")
    fork("elapsed-captured-event", "event t flags 0\nevent u flags 0\nrecord t on a\nbegin a mode relaxed\nkernel on a\nrecord u on a\nelapsed t u\nend a as r\nelapsed t u")
    fork("query-captured-event-global", "begin a mode global\nkernel on a\nrecord e on a\nquery-event e\nkernel on a\nend a as r")
    fork("query-captured-event-thread", "begin a mode relaxed\nkernel on a\nrecord e on a\n@1 query-event e\nkernel on a\nend a as r")
    fork("captured-event-from-legacy", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait legacy for e\nkernel on a\nend a as r")
    fork("captured-event-from-blocking", "stream d flags 0\nbegin a mode relaxed\nkernel on a\nrecord e on a\nwait d for e\nkernel on d\nrecord f on d\nkernel on legacy\nwait a for f\nend a as r")
    fork("captured-event-from-per-thread", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait per-thread for e\nkernel on per-thread\nrecord f on per-thread\nwait a for f\nend a as r")
    fork("event-recorded-outside-while-captured", "begin a mode relaxed\nkernel on a\nrecord e on a\nrecord e on b\nquery-event e\nwait a for e\nkernel on a\nend a as r")
    fork("event-destroyed", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\ndestroy-event e\nkernel on b\nrecord f on b\nwait a for f\nend a as r")
    fork("event-destroyed-before-wait", "begin a mode relaxed\nkernel on a\nrecord e on a\ndestroy-event e\nend a as r")
    fork("stream-destroyed-forked", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\ndestroy-stream b\nwait a for f\nkernel on a\nend a as r")
    fork("stream-destroyed-forked-unjoined", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\ndestroy-stream b\nkernel on a\nend a as r")
    fork("stream-destroyed-forked-no-work", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\ndestroy-stream b\nkernel on a\nend a as r")
    fork("stream-destroyed-origin", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\ndestroy-stream a\nkernel on b\nend b as r\nmem-get-info")
    fork("stream-destroyed-alone", "begin a mode relaxed\nkernel on a\ndestroy-stream a\nmalloc q 4096\nlast-error")
    fork("stream-destroyed-alone-global", "begin a mode global\nkernel on a\ndestroy-stream a\nmalloc q 4096\n@1 malloc r 4096\nlast-error")
    fork("stream-destroyed-global-thread", "begin a mode global\nkernel on a\n@1 destroy-stream a\nmalloc q 4096\n@1 malloc r 4096")
    fork("stream-destroyed-event-left", "begin a mode relaxed\nkernel on a\nrecord e on a\ndestroy-stream a\nwait b for e\nquery-event e\nkernel on b")
    fork("stream-destroyed-invalid", "begin a mode global\nkernel on a\nmalloc q 4096\ndestroy-stream a\nmalloc q 4096\nkernel on b")
    fork("exit", "begin a mode global\nkernel on a\nexit")
    fork("exit-normally", "begin a mode global\nkernel on a\nrecord e on a\nwait b for e\nexit-normally")
    fork("exit-normally-invalid", "begin a mode global\nkernel on a\nmalloc q 4096\nexit-normally")
    fork("merge", "begin a mode relaxed\nbegin b mode relaxed\nkernel on a\nkernel on b\nrecord e on a\nwait b for e\nkernel on a\nkernel on b\nend a as r\nend b as s")
    fork("merge-forked", "begin a mode relaxed\nbegin b mode relaxed\nkernel on a\nkernel on b\nrecord e on a\nwait c for e\nrecord f on b\nwait c for f\nkernel on c\nend a as r\nend b as s\nkernel on c")
    fork("merge-same", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nbegin b mode relaxed\nkernel on b\nrecord f on b\nwait a for f\nend a as r")
    fork("wait-invalidated", "begin a mode relaxed\nkernel on a\nrecord e on a\nquery a\nwait b for e\nkernel on b\nend a as r\nwait b for e\nkernel on b")
    fork("two-captures", "begin a mode relaxed\nbegin b mode relaxed\nkernel on a\nkernel on b\nkernel on b\nend b as s\nkernel on a\nend a as r")
    fork("two-captures-global", "begin a mode global\nbegin b mode global\nkernel on a\nkernel on b\nmalloc q 4096\nend b as s\nend a as r\nmalloc q 4096")
    fork("two-captures-mixed", "begin a mode relaxed\nbegin b mode global\nkernel on a\nkernel on b\nmalloc q 4096\nend b as s\nkernel on a\nend a as r")
    fork("two-captures-mixed-2", "begin a mode thread-local\n@1 begin b mode thread-local\nkernel on a\n@1 kernel on b\nmalloc q 4096\n@1 kernel on b\n@1 end b as s\nkernel on a\nend a as r")
    fork("two-captures-threads", "begin a mode relaxed\n@1 begin b mode global\nkernel on a\n@1 kernel on b\nmalloc q 4096\n@1 end b as s\nkernel on a\nend a as r")
    fork("two-captures-threads-2", "begin a mode thread-local\n@1 begin b mode global\nkernel on a\n@1 kernel on b\n@2 malloc q 4096\n@1 end b as s\nkernel on a\nend a as r")
    fork("event-of-other-capture", "begin a mode relaxed\nkernel on a\nrecord e on a\nbegin b mode relaxed\nrecord e on b\nwait b for e\nkernel on b\nend b as s\nend a as r")
    fork("record-in-both", "begin a mode relaxed\nbegin b mode relaxed\nrecord e on a\nrecord e on b\nwait a for e\nkernel on a\nend a as r\nend b as s")
    fork("ids", "begin a mode relaxed\ninfo a\nend a as r\nbegin a mode relaxed\ninfo a\nbegin b mode relaxed\ninfo b\nend b as s\nend a as t\nbegin c mode relaxed\ninfo c\nend c as u\ninfo c")
    fork("ids-invalid", "begin a mode relaxed\nquery a\ninfo a\nend a as r\ninfo a\nbegin a mode relaxed\ninfo a\nend a as s")
    fork("ids-forked", "begin a mode relaxed\nrecord e on a\nwait b for e\ninfo b\nrecord f on b\nwait a for f\nend a as s\ninfo b\nbegin b mode relaxed\ninfo b\nend b as r")
    for mode in MODES:
        fork(f"end-other-thread-{mode}", f"begin a mode {mode}\nkernel on a\n@1 end a as r\nkernel on a\nend a as s")
        fork(f"begin-other-thread-{mode}", f"@1 begin a mode {mode}\nkernel on a\nmalloc q 4096\nend a as r\n@1 kernel on a\n@1 end a as s")
        fork(f"forked-work-other-thread-{mode}", f"begin a mode {mode}\nkernel on a\nrecord e on a\n@1 wait b for e\n@1 kernel on b\n@1 malloc q 4096\n@1 record f on b\nwait a for f\nend a as r")
        fork(f"begin-twice-{mode}", f"begin a mode {mode}\nkernel on a\nbegin a mode {mode}\nkernel on a\nend a as r\nend a as s")
        fork(f"forked-origin-end-thread-{mode}", f"begin a mode {mode}\nkernel on a\nmalloc q 4096\nquery a\n@1 end a as r\nend a as s")
        fork(f"after-end-{mode}", f"begin a mode {mode}\nkernel on a\nend a as r\nmalloc q 4096\nsync a\nquery a\nkernel on a\nsync a\ndevice-sync")
        fork(f"after-invalid-{mode}", f"begin a mode {mode}\nkernel on a\nsync a\nkernel on a\nmemset-async null 16 on a\nquery a\nrecord e on a\nwait b for e\nmalloc q 4096\ninfo a\ncapturing a\nbegin a mode relaxed\nend a as r\nkernel on a\nsync a\nmalloc q 4096")
    fork("end-none", "end a as r\nend legacy as s\nend per-thread as t\nlast-error")
    fork("begin-legacy", "begin legacy mode relaxed\nbegin legacy-handle mode relaxed\nend legacy as r")
    fork("begin-per-thread", "begin per-thread mode relaxed\nkernel on per-thread\nend per-thread as r\ncapturing per-thread")
    fork("begin-per-thread-blocking", "begin per-thread mode relaxed\nkernel on legacy\nend per-thread as r")
    fork("begin-bad-mode", "begin a mode 3\nbegin a mode -1\nkernel on a\nend a as r\nexchange-mode 3\nexchange-mode relaxed")
    fork("isolation", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait legacy for e\nkernel on legacy\nend a as r")
    fork("wait-legacy-blocking", "stream d flags 0\nbegin d mode relaxed\nkernel on d\nrecord e on d\nwait legacy for e\nend d as r")
    fork("wait-event-of-legacy", "record e on legacy\nbegin a mode relaxed\nkernel on a\nwait a for e\nkernel on a\nend a as r")
    fork("isolation-plain-events", "begin a mode relaxed\nkernel on a\nkernel on b\nrecord e on b\nwait a for e\nend a as r\nkernel on a")
    fork("many", "\n".join(["begin a mode thread-local", "kernel on a"] + [f"stream s{i}\nevent e{i}" for i in range(8)]
         + ["record e on a"] + [f"wait s{i} for e\nkernel on s{i}\nrecord e{i} on s{i}" for i in range(8)]
         + [f"wait a for e{i}" for i in range(8)] + ["kernel on a", "end a as r", "instantiate x of r", "launch x on a", "sync a"]))
    fork("chain", "\n".join(["begin a mode global"] + [f"stream s{i}\nevent e{i}" for i in range(6)]
         + ["kernel on a", "record e0 on a", "wait s0 for e0"]
         + [f"kernel on s{i}\nrecord e{i+1} on s{i}\nwait s{i+1} for e{i+1}" for i in range(5)]
         + ["record e on s5", "wait a for e", "end a as r", "end a as s"]))
    fork("reused-stream", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\nwait a for f\nend a as r\nkernel on b\nsync b\nbegin b mode relaxed\nkernel on b\nend b as s\nlaunch-none\n".replace("launch-none\n", ""))
    fork("wait-from-captured-to-joined", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nrecord f on b\nwait a for f\nkernel on a\nrecord g on a\nwait b for g\nkernel on b\nrecord f on b\nwait a for f\nkernel on a\nend a as r")
    fork("back-and-forth", "begin a mode relaxed\nrecord e on a\nwait b for e\n" + "kernel on b\nrecord f on b\nwait a for f\nkernel on a\nrecord e on a\nwait b for e\n" * 3 + "record f on b\nwait a for f\nend a as r")


def theme_work():
    def work(name, text):
        program(f"work-{name}", """
            stream a
            stream b
            event e
            event f
            malloc d 1MiB
            pinned h 1MiB
            pageable p 1MiB
        """ + text)

    for mode in MODES:
        work(f"everything-{mode}", f"""
            begin a mode {mode}
            memset-async d 4096 on a
            copy-async h d 4096 d2h on a
            copy-async d+8192 h 4096 h2d on a
            copy-async d+16384 d 4096 d2d on a
            copy-async h h+8192 4096 h2h on a
            copy-async p d 4096 d2h on a
            copy-async d p 4096 h2d on a
            copy-async h d 4096 default on a
            host-function on a
            kernel on a
            mallocasync m 1MiB on a
            memset-async m 4096 on a
            copy-async h m 4096 d2h on a
            freeasync m on a
            end a as r
            instantiate x of r
            launch x on a
            sync a
            read-host h
            read-host p
            peek d
            host-calls
            attributes
        """)
    for kind, to, of in [("h2d-pinned", "d", "h"), ("h2d-pageable", "d", "p"), ("d2h-pinned", "h", "d"),
                         ("d2h-pageable", "p", "d"), ("h2h-pinned", "h", "h+4096"), ("h2h-pageable", "p", "p+4096"),
                         ("d2d", "d", "d+4096"), ("h2p", "p", "h")]:
        direction = kind[:3] if kind[:3] in ("h2d", "d2h", "d2d", "h2h") else "h2h"
        for mode in ["global", "relaxed"]:
            work(f"copy-{kind}-{mode}", f"begin a mode {mode}\ncopy-async {to} {of} 64 {direction} on a\ncopy-async {to} {of} 524288 {direction} on a\ncopy-async {to} {of} 64 default on a\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a")
    work("copy-nothing", "begin a mode relaxed\ncopy-async d h 0 h2d on a\nmemset-async d 0 on a\nkernel on a\nend a as r")
    work("copy-wrong-kind", "begin a mode relaxed\ncopy-async d h 64 7 on a\nkernel on a\nend a as r")
    work("copy-wrong-direction", "begin a mode relaxed\ncopy-async d h 64 d2h on a\nkernel on a\nend a as r")
    work("memset-null", "begin a mode relaxed\nkernel on a\nmemset-async null 64 on a\nkernel on a\nend a as r")
    work("copy-null", "begin a mode relaxed\nkernel on a\ncopy-async null d 64 d2d on a\nkernel on a\nend a as r")
    work("free-unknown", "begin a mode relaxed\nkernel on a\nfreeasync d+4096 on a\nkernel on a\nend a as r")
    work("free-null", "begin a mode relaxed\nkernel on a\nfreeasync null on a\nkernel on a\nend a as r")
    work("free-twice", "begin a mode relaxed\nmallocasync m 1MiB on a\nfreeasync m on a\nfreeasync m on a\nkernel on a\nend a as r")
    work("free-forked", "begin a mode relaxed\nmallocasync m 1MiB on a\nrecord e on a\nwait b for e\nfreeasync m on b\nrecord f on b\nwait a for f\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a\nattributes")
    work("free-unordered", "begin a mode relaxed\nrecord e on a\nwait b for e\nmallocasync m 1MiB on a\nfreeasync m on b\nrecord f on b\nwait a for f\nend a as r\ninstantiate x of r")
    work("alloc-zero", "begin a mode relaxed\nmallocasync m 0 on a\nkernel on a\nend a as r")
    work("alloc-huge", "begin a mode relaxed\nmallocasync m 200GiB on a\nkernel on a\nend a as r\ninstantiate x of r\nlaunch x on a")
    work("alloc-unfreed", "begin a mode relaxed\nmallocasync m 64MiB on a\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a\nattributes\nfreeasync m on a\nsync a\nattributes\nlaunch x on a\nlaunch x on a\nsync a\nattributes")
    work("alloc-invalidated", "begin a mode relaxed\nmallocasync m 64MiB on a\nquery a\nmallocasync n 64MiB on a\nfreeasync m on a\nend a as r\nmallocasync n 64MiB on a\nsync a\nattributes")
    work("alloc-of-other-graph-freed", "begin a mode relaxed\nmallocasync m 32MiB on a\nend a as r\nbegin a mode relaxed\nfreeasync m on a\nend a as s\ninstantiate x of r\ninstantiate y of s\nlaunch x on a\nlaunch y on a\nsync a\nattributes")
    work("alloc-from-pool", "default-pool q\nbegin a mode global\nmallocfrompool m 1MiB of q on a\nfreeasync m on a\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a")
    work("alloc-from-own-pool", "pool q\nbegin a mode global\nmallocfrompool m 1MiB of q on a\nfreeasync m on a\nend a as r\ninstantiate x of r\nlaunch x on a\nsync a")
    work("free-outside-of-captured", "begin a mode relaxed\nmallocasync m 1MiB on a\nfreeasync m on b\nkernel on a\nend a as r")
    work("sync-copy-inside", "begin a mode relaxed\nkernel on a\ncopy d p 64 h2d\nmemset d 64\nkernel on a\nend a as r")
    work("host-function-forked", "begin a mode global\nkernel on a\nrecord e on a\nwait b for e\nhost-function on b\nrecord f on b\nwait a for f\nhost-function on a\nend a as r\ninstantiate x of r\nlaunch x on a\nlaunch x on a\nsync a\nhost-calls")
    # Graphs that are launched into a capture.
    child = "graph g\nkernel k in g\nkernel l in g after k\ninstantiate x of g\n"
    work("child", child + "begin a mode relaxed\nkernel on a\nlaunch x on a\nkernel on a\nend a as r\ninstantiate y of r\nlaunch y on a\nsync a")
    work("child-global", child + "begin a mode global\nlaunch x on a\nlaunch x on a\nend a as r\ninstantiate y of r\nlaunch y on a\nsync a")
    work("child-forked", child + "begin a mode relaxed\nrecord e on a\nwait b for e\nlaunch x on b\nrecord f on b\nlaunch x on a\nwait a for f\nend a as r")
    work("child-empty", "graph g\ninstantiate x of g\nbegin a mode relaxed\nlaunch x on a\nkernel on a\nend a as r\ninstantiate y of r\nlaunch y on a")
    work("child-updated", child + "begin a mode relaxed\nlaunch x on a\ndestroy-graph g\nkernel on a\nend a as r\ndestroy-exec x\ninstantiate y of r\nlaunch y on a\nsync a")
    work("child-exec-destroyed-inside", child + "begin a mode relaxed\nlaunch x on a\ndestroy-exec x\nkernel on a\nend a as r\ninstantiate y of r\nlaunch y on a")
    memory = "begin a mode relaxed\nmallocasync m 32MiB on a\nfreeasync m on a\nend a as g\ninstantiate x of g\n"
    work("child-memory", memory + "begin a mode relaxed\nlaunch x on a\nkernel on a\nend a as r\ninstantiate y of r\nlaunch y on a\nsync a\nattributes")
    work("child-memory-launched", memory + "launch x on a\nsync a\nbegin a mode relaxed\nkernel on a\nlaunch x on a\nkernel on a\nend a as r\nlaunch x on a\nsync a")
    work("child-unfreed", "begin a mode relaxed\nmallocasync m 32MiB on a\nend a as g\ninstantiate x of g\nbegin a mode relaxed\nlaunch x on a\nkernel on a\nend a as r\ninstantiate y of r\nlaunch y on a\nsync a")
    work("child-auto-free", "begin a mode relaxed\nmallocasync m 32MiB on a\nend a as g\ninstantiate x of g flags 1\nbegin a mode relaxed\nlaunch x on a\nkernel on a\nend a as r")
    work("child-nested", child + "begin a mode relaxed\nlaunch x on a\nend a as r\ninstantiate y of r\nbegin a mode relaxed\nlaunch y on a\nlaunch x on a\nend a as s\ninstantiate z of s\nlaunch z on a\nsync a")
    work("upload-inside", child + "begin a mode relaxed\nupload x on a\nkernel on a\nend a as r")
    work("destroyed-exec-inside", child + "destroy-exec x\nbegin a mode relaxed\nkernel on a\nlaunch x on a\nkernel on a\nend a as r")
    # The graph to which a capture adds nodes.
    work("begin-to", "graph g\nkernel k in g\nkernel l in g after k\nbegin-to a in g after l mode relaxed\nkernel on a\nmemset-async d 64 on a\nend a as r\nshow g\ninstantiate x of g\nlaunch x on a\nsync a\nbegin-to a in g mode relaxed\nkernel on a\nend a as s\nshow g")
    work("begin-to-two", "graph g\nkernel k in g\nkernel l in g\nbegin-to a in g after k,l mode global\nrecord e on a\nwait b for e\nkernel on a\nkernel on b\nrecord f on b\nwait a for f\nend a as r\nshow g")
    work("begin-to-invalid", "graph g\nkernel k in g\nbegin-to a in g after k mode relaxed\nkernel on a\nquery a\nend a as r\nshow g\nbegin-to a in g after k mode relaxed\nkernel on a\nend a as r\nshow g\ninstantiate x of g\nlaunch x on a\nsync a")
    work("begin-to-unjoined", "graph g\nkernel k in g\nbegin-to a in g after k mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nend a as r\nshow g\nkernel on b\ninstantiate x of g")
    work("begin-to-busy", "graph g\nbegin-to a in g mode relaxed\nkernel on a\nbegin-to b in g mode relaxed\nkernel on b\nend b as s\nend a as r\nshow g")
    work("begin-to-changed", "graph g\nbegin-to a in g mode relaxed\nkernel on a\nempty n in g\nempty m in g after 0\nkernel on a\nend a as r\nshow g")
    work("begin-to-destroyed", "graph g\nbegin-to a in g mode relaxed\nkernel on a\ndestroy-graph g\nend a as r")
    work("begin-to-foreign", "graph g\ngraph h\nkernel k in h\nbegin-to a in g after k mode relaxed\nkernel on a\nend a as r\nshow g")
    work("begin-to-null", "graph g\nbegin-to a in null mode relaxed\nend a as r")
    work("begin-to-memory", "graph g\nkernel k in g\nbegin-to a in g after k mode relaxed\nmallocasync m 32MiB on a\nfreeasync m on a\nend a as r\ninstantiate x of g\nlaunch x on a\nsync a\nattributes")
    work("begin-to-destroyed-stream", "graph g\nkernel k in g\nbegin-to a in g after k mode relaxed\nkernel on a\ndestroy-stream a\nshow g\ninstantiate x of g\nbegin-to b in g mode relaxed\nkernel on b\nend b as r")
    work("instantiate-captured", "begin a mode relaxed\nkernel on a\nempty n in capture:a\nempty m in capture:a after 0\nkernel on a\nend a as r\ninstantiate x of r")
    work("change-captured", "begin a mode relaxed\nkernel on a\nempty n in capture:a after 0\nupdate-dependencies a 1 flags 1\nkernel on a\nend a as r")
    work("destroy-captured-node", "begin a mode relaxed\nkernel on a\nkernel on a\ndestroy-node 0 in capture:a\nkernel on a\nend a as r")
    work("destroy-captured-tip", "begin a mode relaxed\nkernel on a\nkernel on a\ndestroy-node 1 in capture:a\nkernel on a\nend a as r")
    # Dependencies changed by the program.
    work("update-set", "begin a mode relaxed\nkernel on a\nkernel on a\nkernel on a\nupdate-dependencies a 0 flags 1\nkernel on a\nend a as r")
    work("update-add", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nkernel on a\nupdate-dependencies a tips:b flags 0\nkernel on a\nend a as r")
    work("update-none", "begin a mode relaxed\nkernel on a\nkernel on a\nupdate-dependencies a none flags 1\nkernel on a\nend a as r")
    work("update-add-none", "begin a mode relaxed\nkernel on a\nupdate-dependencies a none flags 0\nkernel on a\nend a as r")
    work("update-drops-work", "begin a mode relaxed\nkernel on a\nkernel on a\nupdate-dependencies a 0 flags 1\nend a as r")
    work("update-drops-fork", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nupdate-dependencies b 0 flags 1\nend a as r")
    work("update-drops-fork-to-none", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nupdate-dependencies b none flags 1\nend a as r")
    work("update-set-joins", "begin a mode relaxed\nkernel on a\nrecord e on a\nwait b for e\nkernel on b\nupdate-dependencies a tips:b flags 1\nend a as r")
    work("update-not-capturing", "graph g\nkernel k in g\nupdate-dependencies a none flags 1\nupdate-dependencies a k flags 0\nkernel on a")
    work("update-invalid", "begin a mode relaxed\nkernel on a\nquery a\nupdate-dependencies a none flags 1\nend a as r")
    work("update-foreign", "graph g\nkernel k in g\nbegin a mode relaxed\nkernel on a\nupdate-dependencies a k flags 0\nkernel on a\nend a as r")
    work("update-bad-flags", "begin a mode relaxed\nkernel on a\nupdate-dependencies a 0 flags 2\nkernel on a\nend a as r")
    work("update-twice-same", "begin a mode relaxed\nkernel on a\nkernel on a\nupdate-dependencies a 0 flags 0\nupdate-dependencies a 0,1 flags 1\nupdate-dependencies a 0,0 flags 1\nkernel on a\nend a as r")
    work("update-other-thread", "begin a mode global\nkernel on a\nkernel on a\n@1 update-dependencies a 0 flags 1\nkernel on a\nend a as r")
    work("legacy-update", "update-dependencies legacy none flags 1")
    # Null and destroyed handles during a capture.
    work("destroyed-event-inside", "destroy-event e\nbegin a mode relaxed\nkernel on a\nrecord e on a\nkernel on a\nend a as r")
    work("destroyed-stream-inside", "destroy-stream b\nbegin a mode global\nkernel on a\nkernel on b\nkernel on a\nend a as r")
    work("captured-graph-destroyed", "begin a mode relaxed\nkernel on a\nend a as r\ndestroy-graph r\nbegin a mode relaxed\nkernel on a\nend a as s")
    work("end-without-place", "begin a mode relaxed\nkernel on a\nend a\nend a")
    work("launch-of-captured", "begin a mode global\nkernel on a\nend a as r\ninstantiate x of r\nbegin b mode global\nlaunch x on a\nkernel on b\nend b as s\nsync a\nlaunch x on b\nsync b")
    work("last-errors", "begin a mode global\nmalloc q 4096\npeek-error\nlast-error\nlast-error\nkernel on a\nlast-error\nend a as r\nlast-error\nlast-error")
    work("last-error-threads", "begin a mode global\n@1 malloc q 4096\nlast-error\n@1 peek-error\n@1 last-error\nkernel on a\nend a as r\n@1 last-error\nlast-error")


def theme_conditional():
    def conditional(name, text):
        program(f"conditional-{name}", """
            stream a
            malloc p 4096
            put p 0
            malloc q 4096
            put q 0
            graph g
        """ + text)

    run = "instantiate x of g\nlaunch x on a\nsync a\nnumber p\nnumber q\nlaunch x on a\nsync a\nnumber p\nnumber q\n"
    for value in [0, 1, 2]:
        conditional(f"if-{value}", f"condition c in g default {value} flags 1\nconditional n in g of c type if\nadd k to p 1 in n0\nshow g\n" + run)
        conditional(f"if-else-{value}", f"condition c in g default {value} flags 1\nconditional n in g of c type if size 2\nadd k to p 1 in n0\nadd l to q 1 in n1\n" + run)
        conditional(f"set-{value}", f"condition c in g default 7 flags 1\nset s to c {value} in g\nconditional n in g of c type if size 2 after s\nadd k to p 1 in n0\nadd l to q 1 in n1\n" + run)
        conditional(f"no-default-{value}", f"condition c in g default {value}\nconditional n in g of c type if size 2\nadd k to p 1 in n0\nadd l to q 1 in n1\n" + run)
    for value in [0, 1, 2, 3, 100]:
        conditional(f"switch-{value}", f"condition c in g default {value} flags 1\nconditional n in g of c type switch size 3\nadd k to p 1 in n0\nadd l to p 10 in n1\nadd m to p 100 in n2\n" + run)
    for rounds in [1, 2, 17]:
        conditional(f"while-{rounds}", f"put q {rounds}\ncondition c in g default 1 flags 1\nconditional n in g of c type while\nadd k to p 1 in n0\ncount-down l of c at q in n0 after k\ninstantiate x of g\nlaunch x on a\nsync a\nnumber p\nnumber q\nput q 2\nlaunch x on a\nsync a\nnumber p")
    conditional("while-0", "condition c in g default 0 flags 1\nconditional n in g of c type while\nadd k to p 1 in n0\nset s to c 0 in n0\n" + run)
    conditional("while-keeps-value", "put q 2\ncondition c in g default 1\nconditional n in g of c type while\nadd k to p 1 in n0\ncount-down l of c at q in n0 after k\n" + run)
    conditional("nested", "put q 3\ncondition c in g default 1 flags 1\ncondition d in g default 1 flags 1\nconditional n in g of c type while\nconditional m in n0 of d type if\nadd k to p 5 in m0\ncount-down l of c at q in n0 after m\nshow g\ninstantiate x of g\nlaunch x on a\nsync a\nnumber p\nnumber q")
    conditional("nested-handle-of-body", "put q 3\ncondition c in g default 1 flags 1\nconditional n in g of c type while\ncondition d in n0 default 1 flags 1\nconditional m in n0 of d type if\nadd k to p 5 in m0\ncount-down l of c at q in n0 after 0\ninstantiate x of g\nlaunch x on a\nsync a\nnumber p\nnumber q")
    conditional("nested-default-once", "put q 3\ncondition c in g default 1 flags 1\ncondition d in g default 1 flags 1\nconditional n in g of c type while\nconditional m in n0 of d type if\nadd k to p 5 in m0\nset s to d 0 in m0 after k\ncount-down l of c at q in n0 after m\ninstantiate x of g\nlaunch x on a\nsync a\nnumber p\nlaunch x on a\nsync a\nnumber p" .replace("launch x on a\nsync a\nnumber p\nlaunch", "launch x on a\nsync a\nnumber p\nput q 1\nlaunch"))
    for where, text in [("alloc", "alloc m 32MiB in n0"), ("pair", "alloc m 32MiB in n0\nfree-node f of m in n0 after m"), ("host", "host h in n0"),
                        ("empty", "empty e in n0")]:
        conditional(f"body-{where}", f"condition c in g default 1 flags 1\nconditional n in g of c type if\n{text}\ninstantiate x of g\nlaunch x on a\nsync a\nattributes")
        conditional(f"nested-body-{where}", f"condition c in g default 1 flags 1\ncondition d in g default 1 flags 1\nconditional m in g of c type if\nconditional n in m0 of d type if\n{text}\ninstantiate x of g\nlaunch x on a\nsync a\nattributes")
        conditional(f"else-{where}", f"condition c in g default 1 flags 1\nconditional m in g of c type if size 2\n{text.replace('n0', 'm1')}\ninstantiate x of g\nlaunch x on a\nsync a\nattributes")
    conditional("free-of-parent-in-body", "alloc m 32MiB in g\ncondition c in g default 1 flags 1\nconditional n in g of c type if after m\nfree-node f of m in n0\ninstantiate x of g\nlaunch x on a\nsync a\nattributes")
    conditional("child-in-body", "graph h\nadd k to p 3 in h\ncondition c in g default 1 flags 1\nconditional n in g of c type if\nchild d of h in n0\n" + run)
    conditional("child-with-host-in-body", "graph h\nhost k in h\ncondition c in g default 1 flags 1\nconditional n in g of c type if\nchild d of h in n0\ninstantiate x of g")
    conditional("memory-around", "put q 4\nalloc m 64MiB in g\ncondition c in g default 1 flags 1\nconditional n in g of c type while after m\nadd k to m 1 in n0\nadd j to p 1 in n0\ncount-down l of c at q in n0 after k\nfree-node f of m in g after n\ninstantiate x of g\nlaunch x on a\nsync a\nnumber p\nattributes\nput q 9\nlaunch x on a\nsync a\nnumber p\nattributes")
    conditional("order-through", "alloc m 64MiB in g\nfree-node f of m in g after m\ncondition c in g default 0 flags 1\nconditional n in g of c type while after f\nalloc o 64MiB in g after n\nfree-node h of o in g after o\ninstantiate x of g\nlaunch x on a\nsync a\nattributes")
    conditional("captured-body", "condition c in g default 1 flags 1\nconditional n in g of c type if\nbegin-to a in n0 mode relaxed\nmemset-async p 4 on a\nkernel on a\nend a as r\nshow n0\n" + run)
    conditional("captured-body-memory", "condition c in g default 1 flags 1\nconditional n in g of c type if\nbegin-to a in n0 mode relaxed\nmallocasync m 32MiB on a\nfreeasync m on a\nend a as r\nshow n0\ninstantiate x of g")
    conditional("captured-body-invalid", "condition c in g default 1 flags 1\nconditional n in g of c type if\nbegin-to a in n0 mode relaxed\nkernel on a\nquery a\nend a as r\nshow n0\nshow g\ninstantiate x of g")
    conditional("handle-twice", "condition c in g default 1 flags 1\nconditional n in g of c type if\nconditional m in g of c type if\ninstantiate x of g")
    conditional("handle-of-other-graph", "graph h\ncondition c in h default 1 flags 1\nconditional n in g of c type if\nshow g\nconditional n in h of c type if\nshow h")
    conditional("handle-null", "conditional n in g of null type if\nshow g\ncondition c in null\ncondition d in g flags 2\ncondition e in g flags 1")
    conditional("sizes", "condition c in g\nconditional n in g of c type if size 0\nconditional n in g of c type if size 3\nconditional n in g of c type while size 2\nconditional n in g of c type switch size 0\nconditional n in g of c type 3 size 1\nconditional n in g of c type switch size 5\nshow g")
    conditional("body-instantiated", "condition c in g default 1 flags 1\nconditional n in g of c type if\nadd k to p 1 in n0\ninstantiate y of n0\ndestroy-graph n0\nclone h of n0\nshow n0\n" + run)
    conditional("clone", "condition c in g default 1 flags 1\nconditional n in g of c type if\nadd k to p 1 in n0\nclone h of g\ngraph i\nchild d of g in i\n" + run)
    conditional("second-exec", "condition c in g default 1 flags 1\nconditional n in g of c type if\nadd k to p 1 in n0\ninstantiate x of g\ninstantiate y of g\ndestroy-exec x\ninstantiate y of g\nlaunch y on a\nsync a\nnumber p")
    conditional("destroy-node", "condition c in g default 1 flags 1\nconditional n in g of c type if\nadd k to p 1 in n0\ndestroy-node n in g\nshow g\nconditional m in g of c type if\nshow g")
    conditional("update", "condition c in g default 1 flags 1\nconditional n in g of c type if\nadd k to p 1 in n0\ninstantiate x of g\nupdate-exec x g\nlaunch x on a\nsync a\nnumber p")
    conditional("changed-after", "condition c in g default 1 flags 1\nconditional n in g of c type if\nadd k to p 1 in n0\ninstantiate x of g\nadd l to p 10 in n0\nlaunch x on a\nsync a\nnumber p")
    conditional("empty-body", "condition c in g default 1 flags 1\nconditional n in g of c type if\n" + run)
    conditional("launch-in-capture", "condition c in g default 1 flags 1\nconditional n in g of c type if\ninstantiate x of g\nbegin a mode relaxed\nlaunch x on a\nend a as r")
    conditional("two-conditions-shared-kernel", "condition c in g default 0 flags 1\ncondition d in g default 0 flags 1\nset s to c 1 in g\nset t to d 1 in g after s\nconditional n in g of c type if after t\nconditional m in g of d type if after n\nadd k to p 1 in n0\nadd l to q 1 in m0\n" + run)


# ---- random programs---------------------------------------------------------

def random_program(seed):
    r = random.Random(seed)
    lines, threads = [], r.choice([1, 1, 2, 3])
    streams = [f"s{i}" for i in range(r.randint(2, 5))]
    events = [f"e{i}" for i in range(r.randint(2, 5))]
    for s in streams:
        lines.append(f"stream {s}" + (" flags 0" if r.random() < 0.15 else ""))
    for e in events:
        lines.append(f"event {e}")
    lines += ["malloc d 1MiB", "pinned h 1MiB", "pageable p 1MiB", "graph g", "kernel k in g", "kernel l in g after k",
              "instantiate x of g"]
    pointers, graphs, capturing, made, names = [], [], {}, 0, 0
    # What most programs do: fork and join within the rules; the others make any call.
    tidy = r.random() < 0.5
    forbidden = 0.02 if tidy else 0.12

    def here():
        return f"@{r.randrange(threads)} " if threads > 1 and r.random() < (0.1 if tidy else 0.3) else ""

    def live():
        return r.choice(list(capturing) or streams) if r.random() < 0.85 else r.choice(streams)

    recorded = {}
    for _ in range(r.randint(10, 32)):
        kind = r.random()
        if not capturing and kind < 0.6 or kind < 0.04:
            s = r.choice(streams)
            thread = r.randrange(threads) if r.random() < 0.3 else 0
            lines.append(f"@{thread} begin {s} mode {r.choice(MODES)}")
            capturing.setdefault(s, (s, thread))
        elif kind < 0.34:
            s = live()
            what = r.choice(["kernel on {}", "kernel on {}", "kernel on {}", "memset-async d 4096 on {}", "copy-async h d 64 d2h on {}",
                             "copy-async d p 64 h2d on {}", "copy-async d d+4096 64 d2d on {}", "host-function on {}", "launch x on {}"])
            lines.append(here() + what.format(s))
        elif kind < 0.40:
            names += 1
            pointers.append(f"m{names}")
            lines.append(here() + f"mallocasync m{names} {r.choice(['4096', '1MiB', '40MiB'])} on {live()}")
        elif kind < 0.45 and pointers:
            p = r.choice(pointers)
            if tidy or r.random() < 0.8:
                pointers.remove(p)
            lines.append(here() + f"freeasync {p} on {live()}")
        elif kind < 0.58:
            s, e = live(), r.choice(events)
            recorded[e] = s
            lines.append(here() + f"record {e} on {s}" + (" flags 1" if r.random() < 0.04 else ""))
            if r.random() < 0.7:
                to = r.choice(streams)
                lines.append(here() + f"wait {to} for {e}")
                if s in capturing:
                    capturing.setdefault(to, capturing[s])
        elif kind < 0.70 and recorded:
            e = r.choice(list(recorded))
            to = r.choice(streams) if not tidy else live()
            lines.append(here() + f"wait {to} for {e}" + (" flags 1" if r.random() < 0.03 else ""))
            if recorded[e] in capturing:
                capturing.setdefault(to, capturing[recorded[e]])
        elif kind < 0.70 + forbidden:
            e, s = r.choice(events), r.choice(streams)
            names += 1
            lines.append(here() + r.choice([
                f"malloc q{names} 4096", "mem-get-info", "device-sync", f"query {s}", f"sync {s}", f"query-event {e}", f"sync-event {e}",
                "kernel on legacy", "memset d 64", "copy d p 64 h2d", f"begin {s} mode global", "attributes",
                f"exchange-mode {r.choice(MODES)}", f"stream-flags {s}", "trim", f"instantiate y{names} of g",
                f"info {s}", f"capturing {s}", f"upload x on {s}", f"update-dependencies {s} none flags {r.randrange(2)}",
                f"update-dependencies {s} 0 flags {r.randrange(2)}", f"update-dependencies {s} tips:{r.choice(streams)} flags {r.randrange(2)}",
                f"pinned w{names} 4096", f"destroy-event {e}" if r.random() < 0.3 else f"query-event {e}"]))
        elif kind > 0.86 and capturing:
            s = r.choice(list(capturing))
            origin, thread = capturing[s]
            if r.random() < (0.95 if tidy else 0.5):
                # Joins every stream that joined the capture of this origin.
                for other in [o for o, c in capturing.items() if c[0] == origin and o != origin]:
                    e = r.choice(events)
                    lines.append(f"record {e} on {other}")
                    lines.append(f"wait {origin} for {e}")
            made += 1
            end = origin if r.random() < (0.97 if tidy else 0.8) else r.choice(streams)
            by = thread if r.random() < (0.97 if tidy else 0.7) else r.randrange(threads)
            lines.append(f"@{by} end {end} as r{made}")
            if end == origin:
                capturing = {o: c for o, c in capturing.items() if c[0] != origin}
            graphs.append(f"r{made}")
            if r.random() < 0.5:
                lines += [f"instantiate z{made} of r{made}", f"launch z{made} on {r.choice(streams)}", "device-sync"]
    return [line[3:] if line.startswith("@0 ") else line for line in lines]


def write(name, lines):
    print(f"== {name}")
    print("\n".join(lines))
    print()


if sys.argv[1] == "random":
    first, count = int(sys.argv[2]), int(sys.argv[3])
    for seed in range(first, first + count):
        write(f"random-{seed}", random_program(seed))
else:
    if sys.argv[1] == "conditional":
        theme_conditional()
    else:
        theme_modes()
        theme_forks()
        theme_work()
    for name, lines in programs.items():
        write(name, lines)
