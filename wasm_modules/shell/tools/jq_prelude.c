/* jq_prelude.c - built-in functions written in jq, each parsed when a program first uses it. */
#include "jq.h"
#include <string.h>

static const struct { const char *name; int arity; const char *text;
} prelude[] = {
    {"_nwise", 1, "def _nwise($n): def n: if length <= $n then . else .[0:$n], (.[$n:] | n) end; n;"},
    {"values", 0, "def values: select(. != null);"},
    {"nulls", 0, "def nulls: select(. == null);"},
    {"booleans", 0, "def booleans: select(type == \"boolean\");"},
    {"numbers", 0, "def numbers: select(type == \"number\");"},
    {"strings", 0, "def strings: select(type == \"string\");"},
    {"arrays", 0, "def arrays: select(type == \"array\");"},
    {"objects", 0, "def objects: select(type == \"object\");"},
    {"iterables", 0, "def iterables: select(type|. == \"array\" or . == \"object\");"},
    {"scalars", 0, "def scalars: select(type|. != \"array\" and . != \"object\");"},
    {"finites", 0, "def finites: select(isinfinite | not);"},
    {"normals", 0, "def normals: select(isnormal);"},
    {"recurse", 0, "def recurse: ..;"},
    {"recurse_down", 0, "def recurse_down: ..;"},
    {"map_values", 1, "def map_values(f): .[] |= f;"},
    {"paths", 1, "def paths(node_filter): path(.. | select(node_filter)) | select(length > 0);"},
    {"leaf_paths", 0, "def leaf_paths: paths(scalars);"},
    {"with_entries", 1, "def with_entries(f): to_entries | map(f) | from_entries;"},
    {"first", 0, "def first: .[0];"},
    {"last", 0, "def last: .[-1];"},
    {"nth", 1, "def nth($n): .[$n];"},
    {"nth", 2, "def nth($n; f): if $n < 0 then error(\"nth doesn't support negative indices\") else first(skip($n; f)) end;"},
    {"skip", 2, "def skip($n; f): if $n > 0 then foreach f as $x ($n; . - 1; if . < 0 then $x else empty end) else f end;"},
    {"any", 0, "def any: any(.[]; .);"},
    {"all", 0, "def all: all(.[]; .);"},
    {"any", 1, "def any(f): any(.[]; f);"},
    {"all", 1, "def all(f): all(.[]; f);"},
    {"in", 1, "def in(xs): . as $x | xs | has($x);"},
    {"inside", 1, "def inside(xs): . as $x | xs | contains($x);"},
    {"isvalid", 1, "def isvalid(f): try (f | true) catch false;"},
    {"combinations", 0,
        "def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $w | [$x] + $w end;"},
    {"combinations", 1, "def combinations(n): . as $dot | [range(n)] | map($dot) | combinations;"},
    {"todate", 0, "def todate: strftime(\"%Y-%m-%dT%H:%M:%SZ\");"},
    {"fromdateiso8601", 0, "def fromdateiso8601: strptime(\"%Y-%m-%dT%H:%M:%SZ\") | mktime;"},
    {"todateiso8601", 0, "def todateiso8601: strftime(\"%Y-%m-%dT%H:%M:%SZ\");"},
    {"fromdate", 0, "def fromdate: fromdateiso8601;"},
    {"date", 0, "def date: todate;"},
    {"dateadd", 2, "def dateadd(u; n): . + n;"},
    {"datesub", 2, "def datesub(u; n): . - n;"},
    {"match", 2, "def match(re; mode): _match_impl(re; mode; false) | .[];"},
    {"match", 1,
        "def match($val): ($val|type) as $vt | if $vt == \"string\" then match($val; null) elif $vt == \"array\" and ($val | "
        "length) > 1 then match($val[0]; $val[1])"
        " elif $vt == \"array\" and ($val | length) > 0 then match($val[0]; null) else error($vt + \" not a string or array\") "
        "end;"},
    {"test", 2, "def test(re; mode): _match_impl(re; mode; true);"},
    {"test", 1,
        "def test($val): ($val|type) as $vt | if $vt == \"string\" then test($val; null) elif $vt == \"array\" and ($val | "
        "length) > 1 then test($val[0]; $val[1])"
        " elif $vt == \"array\" and ($val | length) > 0 then test($val[0]; null) else error($vt + \" not a string or array\") "
        "end;"},
    {"capture", 2,
        "def capture(re; mods): match(re; mods) | [.captures | .[] | select(.name != null) | {key: .name, value: .string}] | "
        "from_entries;"},
    {"capture", 1,
        "def capture($val): ($val|type) as $vt | if $vt == \"string\" then capture($val; null) elif $vt == \"array\" and ($val | "
        "length) > 1 then capture($val[0]; $val[1])"
        " elif $vt == \"array\" and ($val | length) > 0 then capture($val[0]; null) else error($vt + \" not a string or array\") "
        "end;"},
    {"scan", 2,
        "def scan($re; $flags): match($re; \"g\" + $flags) | if (.captures|length) > 0 then [.captures | .[] | .string] else "
        ".string end;"},
    {"scan", 1, "def scan($re): scan($re; null);"},
    {"splits", 2, "def splits($re; flags): split($re; flags) | .[];"},
    {"splits", 1, "def splits($re): splits($re; null);"},
    {"split", 2,
        "def split($re; flags): . as $s | [foreach ((match($re; flags + \"g\") | [.offset, .length]), null) as $m ([0, null]; if "
        "$m == null then [.[0], $s[.[0]:]] else [$m[0] + $m[1], $s[.[0]:$m[0]]] end; .[1])];"},
    {"sub", 3,
        "def sub($re; str; $flags): . as $in | (reduce match($re; $flags) as $edit ({result: [], previous: 0}; "
        "$in[.previous:($edit | .offset)] as $gap"
        " | [reduce ($edit | .captures | .[] | select(.name != null) | {(.name): .string}) as $pair ({}; . + $pair) | str] as "
        "$inserts"
        " | reduce range(0; $inserts | length) as $i (.; .result[$i] += $gap + $inserts[$i]) | .previous = ($edit | .offset + "
        ".length))"
        " | .result[] + $in[.previous:]) // $in;"},
    {"sub", 2, "def sub($re; str): sub($re; str; \"\");"},
    {"gsub", 3, "def gsub($re; str; $flags): sub($re; str; $flags + \"g\");"},
    {"gsub", 2, "def gsub($re; str): sub($re; str; \"g\");"},
    {"indices", 1,
        "def indices($i): if type == \"array\" and ($i|type) == \"array\" then .[$i] elif type == \"array\" then .[[$i]] elif "
        "type == \"string\" and ($i|type) == \"string\" then _strindices($i) else .[$i] end;"},
    {"index", 1, "def index($i): indices($i) | .[0];"},
    {"rindex", 1, "def rindex($i): indices($i) | .[-1:][0];"},
    {"tostream", 0,
        "def tostream: path(def r: (.[]?|r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p+$q]);"},
    {"fromstream", 1,
        "def fromstream(f): {x: null, e: false} as $init | foreach f as $i ($init; if .e then $init else . end | if $i | length "
        "== 2 then setpath([\"e\"]; $i[0] | length == 0) | setpath([\"x\"] + $i[0]; $i[1])"
        " else setpath([\"e\"]; $i[0] | length == 1) end; if .e then .x else empty end);"},
    {"truncate_stream", 1,
        "def truncate_stream(stream): . as $n | null | stream | . as $input | if (.[0]|length) > $n then setpath([0]; .[0][$n:]) "
        "else empty end;"},
    {"IN", 1, "def IN(s): any(s == .; .);"},
    {"IN", 2, "def IN(src; s): any(src == s; .);"},
    {"INDEX", 2, "def INDEX(stream; idx_expr): reduce stream as $row ({}; .[$row|idx_expr|tostring] |= $row);"},
    {"INDEX", 1, "def INDEX(idx_expr): INDEX(.[]; idx_expr);"},
    {"JOIN", 2, "def JOIN($idx; idx_expr): [.[] | [., $idx[idx_expr]]];"},
    {"JOIN", 3, "def JOIN($idx; stream; idx_expr): stream | [., $idx[idx_expr]];"},
    {"JOIN", 4, "def JOIN($idx; stream; idx_expr; join_expr): stream | [., $idx[idx_expr]] | join_expr;"},
    {"bsearch", 1,
        "def bsearch($target): . as $in | first(range(length) | select($in[.] >= $target)) // length | if $in[.] == $target then "
        ". else -1 - . end;"},
    {"debug", 2, "def debug(msg; x): (msg | debug | empty), x;"},
};

jdef *jq_prelude(jq *q, const char *name, int arity) {
    for (jdef *d = q->globals; d; d = d->next) if (d->arity == arity && !strcmp(d->name, name)) return d;
    for (size_t i = 0; i < sizeof prelude / sizeof *prelude; i++) {
        if (prelude[i].arity != arity || strcmp(prelude[i].name, name)) continue;
        jdef *defs;
        if (q->depth++ > 50) return NULL;
        jq_parse_definitions(q, prelude[i].text, &defs);
        q->depth--;
        if (!defs) return NULL;
        defs->next = q->globals;
        q->globals = defs;
        return defs;
    }
    return NULL;
}
