#!/usr/bin/env python3
"""Manual pages and completions of the three programs, made of what their --help says, so that they cannot say anything else.

documents.py BIN_DIR OUT_DIR: OUT_DIR/man1/*.1.gz, OUT_DIR/bash/*, OUT_DIR/zsh/_*, OUT_DIR/fish/*.fish
"""
import gzip
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

PROGRAMS = {
    "rankscope": "see, ask and run hybrid-parallel training",
    "rankscope-sim": "simulate hybrid-parallel training without a window",
    "rankscope-live": "really train the job of a scenario",
}
ENVIRONMENT = {
    "RANKSCOPE_ASSETS": "Folder of the catalogue of models, GPUs, clusters and software stacks, instead of the installed one.",
    "RANKSCOPE_SCENARIOS": "Folder of the scenarios that the gallery shows.",
    "RANKSCOPE_MODULE_PATH": "Folders, separated by colons, where modules for CUDA, NCCL and MPI are looked for first.",
}
SECTIONS = """
.SH ENVIRONMENT
{environment}
.SH EXIT STATUS
.TP
.B 0
All went well.
.TP
.B 1
The input is bad; standard error says where, and what would be right.
.TP
.B 2
The program was called wrongly.
.SH SEE ALSO
{others}
.PP
The scenario file is described key by key in
.IR scenario.schema.json ,
beside the catalogue.
"""


@dataclass
class Option:
    flags: list  # ["-h", "--help"]; of a positional: none
    value: str  # "FILE", "" for a switch
    choices: list
    about: str

    @property
    def takes(self):
        """"" for a switch; else what its value is: "words" (one of the choices), "folder", "file" or "text"."""
        is_file = re.search(r"FILE|OUT|OTHER|\.\w+$", self.value) or re.search(r"[Ff]ile of|[Kk]ey file|\.pub file", self.about)
        if not self.value:
            return ""
        return "words" if self.choices else "folder" if self.value == "FOLDER" else "file" if is_file else "text"


@dataclass
class Command:
    name: str
    about: str
    usage: str = ""
    options: list = field(default_factory=list)
    positionals: list = field(default_factory=list)
    commands: list = field(default_factory=list)


def rows(lines):
    """(name, text) of a table of --help: a name begins two columns in, its text further right or on the next lines."""
    found = []
    for line in lines:
        if re.match(r"  \S", line):
            name, _, text = line[2:].partition("  ")
            found.append([name.strip(), text.strip()])
        elif line.strip() and found:
            found[-1][1] = (found[-1][1] + " " + line.strip()).strip()
    return found


def choices_of(value, about):
    braces = re.search(r"\{([^}]*)\}", value)
    word = r"[a-z][a-z0-9-]*(?: \([^)]*\))?"  # "csv (default)"
    listed = braces or re.search(rf"(?:^|: |\()({word}(?:(?:, | or ){word})+)(?=[).;]|$)", about)
    return re.split(r", ?| or ", re.sub(r" \([^)]*\)", "", listed[1])) if listed else []


def option_of(name, about):
    name = re.sub(r" (REQUIRED|Needs:|Excludes:).*", "", name).removesuffix(" ...")
    words = re.split(r",? +", name) if name.startswith("-") else ["", name]
    flags = [flag for word in words for flag in word.split(",") if flag.startswith("-")]
    value = " ".join(word for word in words if word and not word.startswith("-")).strip("<>")
    choices = choices_of(value, about) if value else []
    return Option(flags, re.sub(r":?\{.*|^(UINT|INT|FLOAT|TEXT)=.*", r"\1", value), choices, about)


def command_of(program, name, run, about=""):
    """Asks `program name --help`; `run` calls it."""
    text = run([program.name] + name.split() + ["--help"])
    command, table = Command(name, about), {}
    section, usage = "", re.search(r"^Usage: *\S*(.*)$", text, re.M)
    command.usage = usage[1].strip().removeprefix(name).strip() if usage else ""
    for line in text.splitlines():
        heading = re.fullmatch(r"(\w+):", line)
        section = heading[1] if heading else section
        if not heading:
            table.setdefault(section, []).append(line)
    command.about = about or next(line for line in text.splitlines() if line and not line.startswith("Usage:"))
    command.options = [option_of(*row) for row in rows(table.get("Options", []))]
    command.positionals = [option_of(*row) for row in rows(table.get("Positionals", []) + table.get("Arguments", []))]
    below = [command_of(program, f"{name} {row[0]}".strip(), run, row[1]) for row in rows(table.get("Subcommands", []))]
    if not name:
        command.commands = below
    for each in below if name else []:  # what a command of commands takes is told with it
        command.about += f". {each.name.split()[-1]}: {each.about}"
        command.options += [option for option in each.options if not set(option.flags) & set(sum((o.flags for o in command.options), []))]
        command.positionals = command.positionals or each.positionals
    return command


# ---- manual pages


def roff(text):
    return re.sub(r"(?m)^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"))


def roff_option(option):
    value = f" \\fI{roff(option.value)}\\fR" if option.value else ""
    names = ", ".join(f"\\fB{roff(flag)}\\fR" for flag in option.flags) or ""
    return f".TP\n{(names + value).strip()}\n{roff(option.about)}"


def manual(program, root, version):
    others = ",\n".join(f".BR {roff(name)} (1)" for name in PROGRAMS if name != program)
    parts = [
        f'.TH {roff(program.upper())} 1 "" "{roff(version)}" "Rankscope"',
        f".SH NAME\n{roff(program)} \\- {roff(PROGRAMS[program])}",
        f".SH SYNOPSIS\n.B {roff(program)}\n{roff(root.usage)}",
        f".SH DESCRIPTION\n{roff(root.about)}",
    ]
    parts += [roff_option(positional) for positional in root.positionals]
    parts += [".SH OPTIONS"] + [roff_option(option) for option in root.options]
    if root.commands:
        parts.append(".SH COMMANDS")
    for command in root.commands:
        parts.append(f".SS {roff(command.name)}\n.B {roff(program)} {roff(command.name)}\n{roff(command.usage)}\n.PP")
        parts.append(roff(command.about))
        parts += [roff_option(each) for each in command.positionals + command.options]
    environment = "\n".join(f".TP\n.B {name}\n{roff(text)}" for name, text in ENVIRONMENT.items())
    return "\n".join(parts) + SECTIONS.format(environment=environment, others=others)


# ---- completions


def flags_of(command):
    return [flag for option in command.options for flag in option.flags if flag.startswith("--")]


def bash(program, root):
    name = "_" + program.replace("-", "_")
    commands = " ".join(command.name for command in root.commands)
    values, flags = {}, []  # what is done for a value: the options that take such
    for command in [root] + root.commands:
        for option in command.options:
            answer = {
                "words": f"mapfile -t COMPREPLY < <(compgen -W '{' '.join(option.choices)}' -- \"$current\")",
                "folder": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current")',
                "file": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current")',
                "text": ":",
            }.get(option.takes)
            if answer:
                values.setdefault(answer, []).extend(f"'{command.name} {flag}'" for flag in option.flags)
        flags.append(f"        '{command.name}') flags='{' '.join(flags_of(command))}' ;;")
    values = [f"        {' | '.join(options)}) {answer}; return ;;" for answer, options in values.items()]
    nl = "\n"
    return f"""# Completion of {program} for bash, made of its --help.
{name}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} commands=" {commands} " command="" flags="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $commands == *" $word "* ]] && {{ command=$word; break; }}
    done
    COMPREPLY=()
    case "$command $before" in
{nl.join(values)}
    esac
    case "$command" in
{nl.join(flags)}
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
    elif [[ $commands != "  " && -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}}
complete -F {name} {program}
"""


def zsh_quoted(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_arguments(command):
    out = []
    for option in command.options:
        repeats = "*" if "repeatable" in option.about else ""
        kind = {"words": f"({' '.join(option.choices)})", "folder": "_files -/", "file": "_files", "text": " ", "": ""}[option.takes]
        value = f":{zsh_quoted(option.value)}:{kind}" if kind else ""
        out += [f"'{repeats}{flag}[{zsh_quoted(option.about)}]{value}'" for flag in option.flags]
    if command.positionals:
        out.append("'*:file:_files'")
    return " \\\n        ".join(out)


def zsh(program, root):
    if not root.commands:
        return f"#compdef {program}\n# Made of its --help.\n_arguments \\\n        {zsh_arguments(root)}\n"
    listed = "\n".join(f"    '{command.name}:{zsh_quoted(command.about)}'" for command in root.commands)
    cases = "\n".join(f"    {command.name})\n        _arguments \\\n        {zsh_arguments(command)} ;;" for command in root.commands)
    return f"""#compdef {program}
# Made of its --help.
local -a commands=(
{listed}
)
local state
_arguments -C \\
        {zsh_arguments(root)} \\
        '1:command:{{_describe command commands}}' \\
        '*::argument:->of_command'
[[ $state == of_command ]] || return
case $words[1] in
{cases}
esac
"""


def fish_quoted(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def fish(program, root):
    names = " ".join(command.name for command in root.commands)
    lines = [f"# Completion of {program} for fish, made of its --help."]
    if root.commands:
        lines.append(f"complete -c {program} -n 'not __fish_seen_subcommand_from {names}' -f")
        for command in root.commands:
            lines.append(f"complete -c {program} -n 'not __fish_seen_subcommand_from {names}' -a {command.name} -d '{fish_quoted(command.about)}'")
    for command in [root] + root.commands:
        if command.name:
            condition = f" -n '__fish_seen_subcommand_from {command.name}'"
        else:
            condition = f" -n 'not __fish_seen_subcommand_from {names}'" if root.commands else ""
        for option in command.options:
            names_of = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
            value = {"words": f" -x -a '{' '.join(option.choices)}'", "folder": " -x -a '(__fish_complete_directories)'",
                     "file": " -r -F", "text": " -x", "": ""}[option.takes]
            lines.append(f"complete -c {program}{condition} {names_of}{value} -d '{fish_quoted(option.about)}'")
    return "\n".join(lines) + "\n"


def main(binaries, out):
    def run(arguments):
        program = pathlib.Path(binaries) / arguments[0]
        return subprocess.run([program] + arguments[1:], check=True, capture_output=True, text=True).stdout

    for name in PROGRAMS:
        program = pathlib.Path(binaries) / name
        if not program.exists():
            continue
        root = command_of(program, "", run)
        version = run([name, "--version"]).split()[-1]
        pages = {
            f"bash/{name}": bash(name, root),
            f"zsh/_{name}": zsh(name, root),
            f"fish/{name}.fish": fish(name, root),
        }
        for place, text in pages.items():
            path = pathlib.Path(out) / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        page = pathlib.Path(out) / "man1" / (name + ".1.gz")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(gzip.compress(manual(name, root, version).encode(), 9, mtime=0))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
