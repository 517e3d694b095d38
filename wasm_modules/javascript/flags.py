"""What the JavaScript guest is compiled from and with; read by wasm_modules/build.py.

Rules: paths are relative, sources to this folder, engine sources to the engine's own folder inside its source package.
It does not know where things are unpacked or who runs the compiler.
"""

from typing import Final

#: Inside of its source package (`wasm_modules.pinned`).
ENGINE_FOLDER: Final = "upstream-quickjs"

#: Ada's folder inside of its source package, and its one source.
URL_FOLDER: Final = "ada_url"
URL_SOURCE: Final = "ada.cpp"
URL_FLAGS: Final = ("-std=c++20", "-fno-exceptions", "-fno-rtti", "-w")

#: Of the shell guest: digests and compression.
SHELL_SOURCES: Final = ("hash.c", "deflate.c", "inflate.c")

#: The engine's own files. quickjs.c is not among them: engine.c includes it.
ENGINE_SOURCES: Final = ("dtoa.c", "libregexp.c", "libunicode.c")

SOURCES: Final = (
    "engine.c",
    "messages.c",
    "buffer.c",
    "moves.c",
    "host.c",
    "serialize.c",
    "timers.c",
    "loop.c",
    "report.c",
    "program.c",
    "modules.c",
    "natives.c",
    "files.c",
    "handles.c",
    "digests.c",
    "derivation.c",
    "deflating.c",
    "urls.c",
    "prelude.c",
    "realm.c",
    "outcome.c",
    "turn.c",
)

#: What a source reads besides itself, where that is not every header: the engine compiles slowly, the prelude changes often.
READS: Final = {"engine.c": ("engine.h", "messages.h", "moves.h"), "prelude.c": ("prelude.h", "prelude/*.js")}
HEADERS: Final = ("*.h",)

TARGET_FLAGS: Final = ("-target", "wasm32-wasi", "-O2", "-D_GNU_SOURCE", "-DNDEBUG")

#: For our own sources; the include folder is the engine's.
SOURCE_FLAGS: Final = ("-std=gnu23", "-Wall", "-Wextra", "-Werror")
ENGINE_FLAGS: Final = ("-w",)

#: zig puts the stack first in memory, so running over its end traps instead of overwriting data.
LINK_FLAGS: Final = ("-mexec-model=reactor", "-Wl,-z,stack-size=4194304", "-Wl,--strip-debug")
