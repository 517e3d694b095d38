def parse_json(s):
    def skip(i):
        while i < len(s) and s[i] in " \t\n\r":
            i += 1
        return i
    def value(i):
        i = skip(i)
        c = s[i]
        if c == "{":
            out, i = {}, skip(i + 1)
            while s[i] != "}":
                k, i = string(i)
                i = skip(i)
                assert s[i] == ":", f"expected : at {i}"
                out[k], i = value(i + 1)
                i = skip(i)
                if s[i] == ",":
                    i = skip(i + 1)
            return out, i + 1
        if c == "[":
            out, i = [], skip(i + 1)
            while s[i] != "]":
                v, i = value(i)
                out.append(v)
                i = skip(i)
                if s[i] == ",":
                    i += 1
                i = skip(i)
            return out, i + 1
        if c == '"':
            return string(i)
        for word, v in (("true", True), ("false", False), ("null", None)):
            if s.startswith(word, i):
                return v, i + len(word)
        j = i
        while j < len(s) and s[j] in "+-0123456789.eE":
            j += 1
        text = s[i:j]
        return (float(text) if any(x in text for x in ".eE") else int(text)), j
    def string(i):
        out, i = [], i + 1
        while s[i] != '"':
            if s[i] == "\\":
                i += 1
                if s[i] == "u":
                    out.append(chr(int(s[i + 1:i + 5], 16)))
                    i += 4
                else:
                    out.append({"n": "\n", "t": "\t"}.get(s[i], s[i]))
            else:
                out.append(s[i])
            i += 1
        return "".join(out), i + 1
    return value(0)[0]

import json
text = r'{"a": [1, 2.5, -3e2, {"b": null}], "s": "q\"\u00e9\n", "t": true, "empty": {}, "list": []}'
print(parse_json(text))
print(parse_json(text) == json.loads(text))
