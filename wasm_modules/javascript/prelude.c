/* prelude.c: embeds the files of prelude/, in the order they are evaluated. See prelude.h. */
#include "prelude.h"

static const char globals_js[] = {
#embed "prelude/globals.js"
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

const struct prelude_file prelude_files[] = {
    {"hatchway:globals", globals_js},
    {"hatchway:timers", timers_js},
    {"hatchway:errors", errors_js},
    {"hatchway:nearest", nearest_js},
    {"hatchway:inspect", inspect_js},
    {"hatchway:format", format_js},
    {"hatchway:console", console_js},
    {"hatchway:web", web_js},
    {"hatchway:url", url_js},
    {"hatchway:numbers", numbers_js},
    {"hatchway:intl", intl_js},
    {"hatchway:path", path_js},
    {"hatchway:buffer", buffer_js},
    {"hatchway:hashes", hashes_js},
    {"hatchway:fs", fs_js},
    {"hatchway:descriptors", descriptors_js},
    {"hatchway:text", text_js},
    {"hatchway:events", events_js},
    {"hatchway:assert", assert_js},
    {"hatchway:node", node_js},
    {"hatchway:child_process", child_process_js},
    {"hatchway:stdin", stdin_js},
    {"hatchway:modules", modules_js},
    {"hatchway:typescript", typescript_js},
    {"hatchway:tools", tools_js},
};
const size_t prelude_count = sizeof prelude_files / sizeof *prelude_files;
