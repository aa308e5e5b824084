#!/usr/bin/env python3
"""Refuses a second definition of a type or function in a namespace: the linker takes either one, silently, where both are inline.

Reads the project's own sources: comments, strings and preprocessor lines out, then braces counted, so that only what stands at
namespace scope is looked at. A program of the tests is one folder of them; everything else is taken as one program. What stands in
anonymous namespaces, constants too, is compiled together with the other files of its library (RANKSCOPE_UNITY): it is taken by library,
in .cpp files. Usage: one_definition.py [FILE…], all files that git knows without any.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'(?!\w)|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|[{};()<>=]|[^\s]")
WORD = re.compile(r"[A-Za-z_]\w*$")
TYPE_WORDS = {"struct", "class", "union", "enum"}
ANONYMOUS = "(anonymous)"


def without_noise(text):
    """The text with what is not code replaced by blanks, line by line as before. A digit separator (1'000) is no character."""
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "_", text)
    return NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def type_name(head):
    """Name of the type that a declaration's tokens before "{" define, or None: `struct Step`, `enum class Kind : int`."""
    depth = 0
    for i, token in enumerate(head):
        depth += (token in "<(") - (token in ">)")
        if token not in TYPE_WORDS or depth > 0:
            continue
        rest = [t for t in head[i + 1 :] if t not in ("class", "final")]
        while rest and rest[0] in ("[", "alignas"):  # attributes
            rest = rest[rest.index("]") + 2 :] if rest[0] == "[" else rest[rest.index(")") + 1 :]
        if not rest or not WORD.match(rest[0]) or "(" in rest:
            return None
        after = rest[1] if len(rest) > 1 else ":"
        return rest[0] if after == ":" else None  # "<": a specialisation; "::": of another scope
    return None


def function_key(head):
    """Name and parameters of the function whose tokens before "{" these are, or None."""
    if "(" not in head or not WORD.match(head[0]) or {"=", "static"} & set(head[: head.index("(")]):
        return None  # no function, the rest of a constructor's initializers, or each file's own
    if {"template", "operator", "extern"} & set(head):
        return None  # overloads by constraint look alike here; what a module exports stands in each
    open_at = head.index("(")
    begin = open_at
    while begin > 0 and (WORD.match(head[begin - 1]) or head[begin - 1] in ("::", "~")):
        if begin < open_at and WORD.match(head[begin - 1]) and WORD.match(head[begin]):
            break
        begin -= 1
    if begin == open_at or begin == 0 and "::" not in head[:open_at]:
        return None  # a macro such as TEST(…): its arguments name what it defines
    depth, end = 0, open_at
    for end in range(open_at, len(head)):
        depth += (head[end] == "(") - (head[end] == ")")
        if depth == 0:
            break
    const = " const" if "const" in head[end:] else ""
    return "".join(head[begin:open_at]) + "(" + " ".join(head[open_at + 1 : end]) + ")" + const


def constant_names(head):
    """Names of the constants that these tokens declare: `constexpr float kMargin = 8, kGap = 4`."""
    ends = [i for i, token in enumerate(head) if token in ("=", "{")]
    if not ends or not {"constexpr", "const"} & set(head) or "(" in head[: ends[0]] or {"using", "template"} & set(head):
        return []
    names, depth, is_value = [], 0, False
    for i, token in enumerate(head):
        if depth == 0 and i in ends and not is_value and WORD.match(head[i - 1]):
            names.append(head[i - 1])
            is_value = True
        is_value = is_value and not (depth == 0 and token == ",")
        depth += (token in "({") - (token in ")}")
    return names


def definitions(text):
    """(line, qualified name) of each type and function that is defined at namespace scope; of constants in anonymous ones."""
    found = []
    scopes = []  # one per open brace: namespace name, or None for anything else
    declared = []  # likewise: the tokens of a declaration that goes on after the brace, or None
    head, line = [], 1
    for match in re.finditer(r"\n|" + TOKEN.pattern, without_noise(text)):
        token = match.group()
        if token == "\n":
            line += 1
        elif token == "}":
            head = []
            if scopes:
                scopes.pop()
                head = declared.pop() or []
        elif token == "{":
            outside = None in scopes
            if not outside and head and "namespace" in head:
                scopes.append("::".join(t for t in head[head.index("namespace") + 1 :] if WORD.match(t) and t != "inline") or ANONYMOUS)
                declared.append(None)
            else:
                if not outside and head:
                    name = type_name(head) or function_key(head)
                    constants = constant_names([*head, "{"]) if ANONYMOUS in scopes and not name else []
                    found += [(line, "::".join([*scopes, name]))] if name else []
                    declared.append([*head, "{", "}"] if constants else None)
                else:
                    declared.append(None)
                scopes.append(None)
            head = []
        elif None not in scopes:
            if token == ";":
                found += [(line, "::".join([*scopes, each])) for each in (constant_names(head) if ANONYMOUS in scopes else [])]
                head = []
            else:
                head.append(token)
    return found


def program_of(path):
    """Files that are never linked together: each folder of tests, and what stands in for CUDA in them."""
    return str(path.parent) if path.parts[0] == "tests" or {"emulation", "emulated"} & set(path.parts) else "the program"


def library_of(path):
    """Folder of the files that may be compiled as one."""
    folders = path.parent.parts
    if folders[:2] == ("tests", "fuzz"):
        return str(path)  # a program each
    if folders[0] in ("sim", "app") and folders[-1] != "qt":
        return "/".join(folders[:2])
    return "/".join(folders[:3])


def is_one_files_own(what, where):
    """Alternatives of the preprocessor, of which one file takes one."""
    return ANONYMOUS in what and len({place.rsplit(":", 1)[0] for place in where}) == 1


def main(arguments):
    names = arguments or subprocess.run(["git", "ls-files", "*.h", "*.cpp", "*.cu", "*.cuh"], cwd=ROOT, check=True, capture_output=True,
                                        text=True).stdout.split()
    places = collections.defaultdict(list)
    for name in names:
        path = pathlib.Path(name)
        for line, what in definitions((ROOT / path).read_text()):
            if ANONYMOUS not in what:
                places[program_of(path), what].append(f"{name}:{line}")
            elif path.suffix not in (".h", ".cuh"):
                places[library_of(path), what].append(f"{name}:{line}")
    twice = {(program, what): where for (program, what), where in places.items()
             if len(where) > 1 and not what.startswith("main(") and not is_one_files_own(what, where)}
    for (_, what), where in sorted(twice.items(), key=lambda item: item[1]):
        print(f"{where[1]}: {what} is defined already at {where[0]}", file=sys.stderr)
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
