"""Random patterns, URLs and JSON with what Python's own modules make of them: lists of the name of a
function, its signature, its arguments and its result.
"""

import json
import random
import re
import sys
from urllib.parse import parse_qsl, urlsplit

random.seed(int(sys.argv[1]))
number = int(sys.argv[2])
calls = []


def chance(share):
    return random.random() < share


def pattern(depth=0):
    """A pattern, whether it may be empty, and its number of groups."""
    options, groups, empty = [], 0, False
    for _ in range(1 if chance(0.7) else 2):
        items, all_empty = [], True
        for _ in range(random.randrange(0 if depth else 1, 4)):
            text, item_empty, own = atom(depth)
            groups += own
            suffix = random.choice(["", "", "", "", "?", "??", "*", "+", "*?", "+?", "{2}", "{1,2}", "{0,2}?"])
            if item_empty and (suffix not in ("", "?", "??") or not text.endswith(")")):
                suffix = ""
            items.append(text + suffix)
            all_empty = all_empty and (item_empty or suffix[:1] in ("?", "*") or suffix.startswith("{0"))
        options.append("".join(items))
        empty = empty or all_empty
    return "|".join(options), empty, groups


def atom(depth):
    kind = random.randrange(10)
    if depth < 3 and kind < 3:
        text, empty, groups = pattern(depth + 1)
        return (f"({text})", empty, groups + 1) if chance(0.7) else (f"(?:{text})", empty, groups)
    if kind == 3:
        return random.choice(["^", "$", "\\b", "\\B"]), True, 0
    return random.choice(["a", "a", "b", "\U0001f600", ".", "[ab]", "[^a]", "\\w", "\\d", "\\W", "\\s", "ab"[: random.randrange(1, 2)]]), False, 0


for _ in range(number):
    source, _, groups = pattern()
    if chance(0.1):
        source = "(?i)" + source
    text = "".join(random.choice("aaabbA1 c\n\U0001f600") for _ in range(random.randrange(10)))
    if not text and "\\B" in source:
        # only from 3.14 on does it match an empty text
        text = "a"
    compiled = re.compile(source)
    group = random.randint(0, groups)
    found = compiled.search(text)
    calls.append(["regexp_extract", "str, str, int -> str", [text, source, group], found.group(group) if found else None])
    calls.append(["regexp_extract_all", "str, str, int -> list[str]", [text, source, group], [m.group(group) or "" for m in compiled.finditer(text)]])
    replacement = "".join(random.choice(["x", "\\\\", "\\n", "\\g<0>", f"\\g<{random.randint(0, groups)}>", *([f"\\{random.randint(1, groups)}"] if groups else [])]) for _ in range(3))
    calls.append(["regexp_replace", "str, str, str -> str", [text, source, replacement], compiled.sub(replacement, text)])
    calls.append(["regexp_like", "str, str -> bool", [text, source], found is not None])


def parts_of(url):
    split = urlsplit(url)
    port = split.port
    authority = split.netloc
    if "[" in authority and not re.fullmatch(r"(?:[^\[\]]*@)?\[[0-9A-Fa-f:.]*\](?::[0-9]*)?", authority):
        raise ValueError
    if "[" not in authority and authority.rpartition("@")[2].count(":") > 1:
        raise ValueError
    before = url.partition("#")[0]
    return {
        "protocol": split.scheme or None,
        # Python leaves what stands behind a % as it is, for zones of IPv6 addresses
        "host": split.hostname.lower() if split.hostname else None,
        "port": port,
        "path": split.path,
        "query": split.query if "?" in before else None,
        "fragment": split.fragment if "#" in url else None,
    }


PIECES = ["http", "https", "Ftp", "mailto", ":", "://", "//", "/", "a", "B.example", "User", "@", ":80", ":70000", ":8080", "?", "&", "=", "#", "%20", "+", "x=1", "[::1]", "[2001:DB8::1]", "..", "%E2%82%AC", "%ff", "é", ";p", "-"]
for _ in range(number):
    url = "".join(random.choice(PIECES) for _ in range(random.randrange(1, 9)))
    if chance(0.5):
        url = random.choice(["https://", f"http://h:{random.randrange(70000)}/", "//[::1]:443"]) + url
    try:
        parts = parts_of(url)
    except ValueError:
        parts = dict.fromkeys(("protocol", "host", "port", "path", "query", "fragment"))
    for name, value in parts.items():
        calls.append([f"url_extract_{name}", f"str -> {'int' if name == 'port' else 'str'}", [url], value])
    query = "&".join(random.choice(["x=1", "x", "y=a+b", "%78=%41", "z=%E2%82%AC", "z=%E2%28", "", "=v", "x=a=b", "y=%zz"]) for _ in range(4))
    name = random.choice(["x", "y", "z", ""])
    values = [value for key, value in parse_qsl(query, keep_blank_values=True) if key == name]
    calls.append(["url_extract_parameter", "str, str -> str", [f"https://a.example/?{query}#x=9", name], values[0] if values else None])


def json_number():
    return random.choice([0, -1, 7, 2**53 + 1, 10**25, 1.5, 1e22, 1.0, -0.0, 1e-7, 123456.789, 1e18, random.uniform(-1e6, 1e6)])


def json_any(depth=0):
    kind = random.randrange(8 if depth < 3 else 5)
    if kind < 2:
        return json_number()
    if kind < 5:
        return random.choice([None, True, False, "", "x", 'q"\\/', "é\n"])
    if kind < 7:
        return {random.choice(["a", "b", "a b", "__proto__", "length", "1"]): json_any(depth + 1) for _ in range(random.randrange(4))}
    return [json_any(depth + 1) for _ in range(random.randrange(4))]


def digits(value):
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return digits(value)
    return value if isinstance(value, str) else None


def compact(value):
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(name, ensure_ascii=False) + ":" + compact(item) for name, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else scalar(value)


def walk(value):
    """A random path with what stands there, or None for a place that is none."""
    path, at, known = "$", value, True
    for _ in range(random.randrange(4)):
        if known and isinstance(at, dict) and at and chance(0.85):
            name = random.choice(list(at))
            at = at[name]
            path += random.choice([f"['{name}']", f'["{name}"]', f".{name}" if re.fullmatch(r"[A-Za-z_]\w*", name) else f"['{name}']"])
        elif known and isinstance(at, list) and at and chance(0.85):
            index = random.randrange(-len(at), len(at))
            at = at[index]
            path += f"[{index}]"
        else:
            known, at = False, None
            path += random.choice([".nothing", "[99]", "[-99]", "['no thing']"])
    return path, at


for _ in range(number):
    value = json_any() if chance(0.1) else {"a": json_any(), "b": [json_any() for _ in range(3)]}
    # keys of digits come first in some implementations: what order has no meaning is not compared
    text = json.dumps(value, ensure_ascii=chance(0.5), indent=1 if chance(0.3) else None)
    path, at = walk(value)
    calls.append(["json_value", "str, str -> str", [text, path], scalar(at)])
    if at is None or isinstance(at, list):
        wanted = None if at is None else [scalar(item) if not isinstance(item, (list, dict)) else compact(item) for item in at if item is not None]
        if '"1":' not in compact(at):
            calls.append(["json_extract_array", "str, str -> list[str]", [text, path], wanted])
    else:
        calls.append(["json_extract_array", "str, str -> list[str]", [text, path], {"$error": True}])

print(json.dumps(calls))
