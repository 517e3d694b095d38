/* prelude.c: embeds the files of prelude/, in the order they are evaluated. See prelude.h. */
#include "prelude.h"

static const char globals_js[] = {
#embed "prelude/globals.js"
    , 0};
static const char checks_js[] = {
#embed "prelude/checks.js"
    , 0};
static const char timers_js[] = {
#embed "prelude/timers.js"
    , 0};
static const char errors_js[] = {
#embed "prelude/errors.js"
    , 0};
static const char nearest_js[] = {
#embed "prelude/nearest.js"
    , 0};
static const char inspect_js[] = {
#embed "prelude/inspect.js"
    , 0};
static const char format_js[] = {
#embed "prelude/format.js"
    , 0};
static const char console_js[] = {
#embed "prelude/console.js"
    , 0};
static const char web_js[] = {
#embed "prelude/web.js"
    , 0};
static const char url_js[] = {
#embed "prelude/url.js"
    , 0};
static const char numbers_js[] = {
#embed "prelude/numbers.js"
    , 0};
static const char intl_js[] = {
#embed "prelude/intl.js"
    , 0};
static const char path_js[] = {
#embed "prelude/path.js"
    , 0};
static const char buffer_js[] = {
#embed "prelude/buffer.js"
    , 0};
static const char hashes_js[] = {
#embed "prelude/hashes.js"
    , 0};
static const char fs_js[] = {
#embed "prelude/fs.js"
    , 0};
static const char descriptors_js[] = {
#embed "prelude/descriptors.js"
    , 0};
static const char text_js[] = {
#embed "prelude/text.js"
    , 0};
static const char events_js[] = {
#embed "prelude/events.js"
    , 0};
static const char assert_js[] = {
#embed "prelude/assert.js"
    , 0};
static const char node_js[] = {
#embed "prelude/node.js"
    , 0};
static const char child_process_js[] = {
#embed "prelude/child_process.js"
    , 0};
static const char stdin_js[] = {
#embed "prelude/stdin.js"
    , 0};
static const char modules_js[] = {
#embed "prelude/modules.js"
    , 0};
static const char typescript_js[] = {
#embed "prelude/typescript.js"
    , 0};
static const char tools_js[] = {
#embed "prelude/tools.js"
    , 0};
static const char stream_js[] = {
#embed "prelude/stream.js"
    , 0};
static const char web_streams_js[] = {
#embed "prelude/web_streams.js"
    , 0};
static const char web_bodies_js[] = {
#embed "prelude/web_bodies.js"
    , 0};
static const char zlib_js[] = {
#embed "prelude/zlib.js"
    , 0};
static const char legacy_url_js[] = {
#embed "prelude/legacy_url.js"
    , 0};
static const char small_modules_js[] = {
#embed "prelude/small_modules.js"
    , 0};
static const char windows_paths_js[] = {
#embed "prelude/windows_paths.js"
    , 0};
static const char file_streams_js[] = {
#embed "prelude/file_streams.js"
    , 0};
static const char keys_js[] = {
#embed "prelude/keys.js"
    , 0};

const struct prelude_file prelude_files[] = {
    {"hatchway:globals", globals_js, false},
    {"hatchway:checks", checks_js, false},
    {"hatchway:timers", timers_js, false},
    {"hatchway:errors", errors_js, false},
    {"hatchway:nearest", nearest_js, false},
    {"hatchway:inspect", inspect_js, false},
    {"hatchway:format", format_js, false},
    {"hatchway:console", console_js, false},
    {"hatchway:web", web_js, false},
    {"hatchway:url", url_js, false},
    {"hatchway:numbers", numbers_js, false},
    {"hatchway:intl", intl_js, false},
    {"hatchway:path", path_js, false},
    {"hatchway:buffer", buffer_js, false},
    {"hatchway:hashes", hashes_js, false},
    {"hatchway:fs", fs_js, false},
    {"hatchway:descriptors", descriptors_js, false},
    {"hatchway:text", text_js, false},
    {"hatchway:events", events_js, false},
    {"hatchway:assert", assert_js, false},
    {"hatchway:node", node_js, false},
    {"hatchway:stdin", stdin_js, false},
    {"hatchway:modules", modules_js, false},
    {"hatchway:typescript", typescript_js, false},
    {"hatchway:tools", tools_js, false},
    {"hatchway:stream", stream_js, .waits = true},
    {"hatchway:web_streams", web_streams_js, .waits = true},
    {"hatchway:web_bodies", web_bodies_js, .waits = true},
    {"hatchway:zlib", zlib_js, .waits = true},
    {"hatchway:child_process", child_process_js, .waits = true},
    {"hatchway:legacy_url", legacy_url_js, .waits = true},
    {"hatchway:small_modules", small_modules_js, .waits = true},
    {"hatchway:windows_paths", windows_paths_js, .waits = true},
    {"hatchway:file_streams", file_streams_js, .waits = true},
    {"hatchway:keys", keys_js, .waits = true},
};
const size_t prelude_count = sizeof prelude_files / sizeof *prelude_files;
