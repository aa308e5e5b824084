"""Manual pages and completions know every option that --help names, and no other; docs say what the programs say.
Usage: documents_test.py BIN_DIR"""
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = pathlib.Path(sys.argv.pop()).resolve()
PROGRAMS = [name for name in ("rankscope", "rankscope-sim", "rankscope-live") if (BINARIES / name).exists()]


def help_of(program, command=""):
    arguments = [BINARIES / program] + command.split() + ["--help"]
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def flags_in(text):
    """What stands in the first column of a table of --help."""
    return {flag for line in text.splitlines() for flag in re.findall(r"(--[a-z-]+)", re.match(r"  (-[^\s,]*(?:, ?--\S+)?)|", line)[0])}


def flags_of(program, command=""):
    """Of a command of commands: what these take, too."""
    text = help_of(program, command)
    below = re.findall(r"^  ([a-z]+) ", text.partition("\nSubcommands:\n")[2], re.M) if command else []
    return flags_in(text).union(*(flags_in(help_of(program, f"{command} {name}")) for name in below))


def commands_of(program):
    return re.findall(r"^  ([a-z]+) ", help_of(program).partition("\nSubcommands:\n")[2], re.M)


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name)
        subprocess.run([sys.executable, ROOT / "packaging" / "documents.py", BINARIES, cls.out], check=True)
        cls.calls = [(program, command) for program in PROGRAMS for command in [""] + commands_of(program)]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_there_is_something_to_be_compared(self):
        self.assertIn(("rankscope-sim", "simulate"), self.calls)
        self.assertIn("--set", flags_in(help_of("rankscope-sim", "simulate")))
        for program, command in self.calls:
            self.assertIn("--help", flags_in(help_of(program, command)), (program, command))

    def test_bash_offers_each_option_after_its_command(self):
        for program, command in self.calls:
            words = [program] + ([command] if command else []) + ["--"]
            script = (f"source {self.out}/bash/{program}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1};"
                      f"_{program.replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
            offered = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout.split()
            self.assertEqual(set(offered), flags_of(program, command), (program, command))

    def test_bash_offers_commands_and_the_words_of_a_choice(self):
        def offered(*words):
            script = (f"compopt() {{ :; }}; source {self.out}/bash/{words[0]}; COMP_WORDS=({' '.join(words)} ''); COMP_CWORD={len(words)};"
                      f"_{words[0].replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
            return subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(offered("rankscope-sim"), commands_of("rankscope-sim"))
        self.assertEqual(offered("rankscope-sim", "schedule", "--receives"), ["when-sent", "before-use"])
        self.assertEqual(offered("rankscope-sim", "schedule", "--format"), ["csv", "json", "ascii", "csv-2024", "comms", "megatron", "sail"])
        self.assertEqual(offered("rankscope-sim", "simulate", "--trace-detail"), ["kernels", "actions"])
        if "rankscope-live" in PROGRAMS:
            self.assertEqual(offered("rankscope-live", "run", "--device"), ["auto", "cpu", "cuda", "emulated"])
        if "rankscope" in PROGRAMS:
            self.assertEqual(offered("rankscope", "--theme"), ["light", "dark", "high-contrast"])

    def test_bash_offers_files_of_every_kind(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("train.sh", "train.json"):
                pathlib.Path(folder, name).touch()
            for program, command in (("rankscope", ""), ("rankscope-sim", "import ")):
                script = (f"compopt() {{ :; }}; source {self.out}/bash/{program}; COMP_WORDS=({program} {command}tr);"
                          f"COMP_CWORD={len(command.split()) + 1}; _{program.replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
                offered = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True, cwd=folder).stdout.split()
                self.assertEqual(sorted(offered), ["train.json", "train.sh"], program)

    def test_an_option_that_takes_a_value_says_so(self):
        for program in PROGRAMS:
            if program == "rankscope":  # whose --help Qt writes
                continue
            for command in commands_of(program):
                for line in help_of(program, command).splitlines():
                    switch = re.match(r"  (--[a-z-]+)(?: Needs: \S+)?(?:  |$)", line)
                    said = switch and subprocess.run([BINARIES / program, command, switch[1] + "=?"], capture_output=True, text=True).stderr
                    self.assertFalse(said and "is none of" in said, (command, switch and switch[1], said))

    def test_zsh_and_fish_know_each_option(self):
        for program in PROGRAMS:
            zsh = (self.out / "zsh" / f"_{program}").read_text()
            fish = (self.out / "fish" / f"{program}.fish").read_text()
            commands = commands_of(program)
            for command in [""] + commands:
                flags = flags_of(program, command)
                part = re.search(rf"\n    {command}\)\n(.*?) ;;", zsh, re.S)[1] if command else zsh.partition("\ncase ")[0]
                self.assertEqual(set(re.findall(r"'\*?(--[a-z-]+)\[", part)), flags, (program, command))
                seen = f"__fish_seen_subcommand_from {command}'" if command else ("not __fish" if commands else "complete")
                lines = [line for line in fish.splitlines() if seen in line]
                self.assertEqual({"--" + flag for line in lines for flag in re.findall(r" -l ([a-z-]+)", line)}, flags, (program, command))

    def test_shells_can_read_them(self):
        for shell, folder, name in (("bash", "bash", "{}"), ("zsh", "zsh", "_{}"), ("fish", "fish", "{}.fish")):
            if not shutil.which(shell):
                continue
            for program in PROGRAMS:
                subprocess.run([shell, "-n", self.out / folder / name.format(program)], check=True)

    def test_manual_pages_tell_each_option(self):
        for program in PROGRAMS:
            page = gzip.decompress((self.out / "man1" / f"{program}.1.gz").read_bytes()).decode().replace("\\-", "-")
            for command in [""] + commands_of(program):
                part = page.partition(f"\n.SS {command}\n" if command else "\n.SH OPTIONS\n")[2]
                part = re.split(r"\n\.S[SH] ", part)[0]
                told = {flag for names in re.findall(r"\n\.TP\n(.*)", "\n" + part) for flag in re.findall(r"\\fB(--[a-z-]+)", names)}
                self.assertEqual(told, flags_of(program, command), (program, command))

    def test_manual_pages_are_without_mistakes(self):
        if not shutil.which("man"):
            self.skipTest("no man")
        for program in PROGRAMS:
            page = self.out / "man1" / f"{program}.1.gz"
            said = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, text=True)
            self.assertEqual((said.returncode, said.stderr), (0, ""), program)


class Pages(unittest.TestCase):
    def page(self, name):
        return " ".join((ROOT / "docs" / name).read_text().split())

    def test_the_lesson_that_teaching_shows_passes_its_own_check(self):
        blocks = re.findall(r"^```json\n(.*?)^```$", (ROOT / "docs" / "teaching.md").read_text(), re.M | re.S)
        cases, *steps = [block.strip() for block in blocks]
        lesson = json.loads(f'{{ "format": "rankscope-lesson", "version": 1, "id": "mine", "title": "Mine", {cases}, "steps": [{", ".join(steps)}] }}')
        self.assertEqual(set(lesson["cases"]), {"gpipe", "fb", "paper"})
        self.assertEqual(len(lesson["steps"]), 2)

        def check():
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "mine.json")
                path.write_text(json.dumps(lesson))
                done = subprocess.run([BINARIES / "rankscope-sim", "lesson", "check", path], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

        code, told = check()
        self.assertEqual(code, 0, told)
        lesson["cases"]["idle"] = lesson["cases"]["paper"]
        code, told = check()
        self.assertNotEqual(code, 0)
        self.assertIn("/cases/idle: nothing uses this case", told)

    def test_frameworks_are_those_that_the_planner_takes(self):
        file = ROOT / "scenarios" / "57-tiny-dp4.json"

        def words_of(command, option):
            told = subprocess.run([BINARIES / "rankscope-sim", command, file, option, "?"], capture_output=True, text=True).stderr
            return re.search("is none of (.*)", told)[1].split(", ")
        names, kinds = words_of("plan", "--for"), words_of("export", "--to")
        self.assertIn("megatron", names)
        self.assertLessEqual(set(names), set(kinds))
        page = self.page("frameworks.md")
        listed = re.search(r"what a framework can do: (.*?)\. ", page)[1]
        self.assertEqual(re.findall("`([a-z]+)`", listed), names)
        planning = (ROOT / "python" / "rankscope" / "planning.py").read_text()
        self.assertEqual(re.findall('"([a-z]+)"', re.search(r"`framework` \((.*?)\)", planning, re.S)[1]), names)
        for name in names:
            told = subprocess.run([BINARIES / "rankscope-sim", "export", file, "--to", name, "--json"], capture_output=True, text=True)
            self.assertEqual(told.returncode, 0, told.stderr)
            kind = json.loads(told.stdout)["kind"]
            self.assertTrue(kind == name or kind.startswith(name + "-"), kind)
            self.assertIn(f"`{kind}`", page)
        for kind in set(kinds) - set(names):
            self.assertIn(f"`{kind}`", page)

    def test_help_lists_them(self):
        self.assertIn("{megatron,torchtitan,", help_of("rankscope-sim", "plan"))
        self.assertIn("{megatron-args,nemo-yaml,", help_of("rankscope-sim", "export"))

    def test_the_gpus_that_ran_the_code_are_those_that_were_measured(self):
        measured = set(re.findall(r"one NVIDIA (\w+)", self.page("measurements.md")))
        self.assertEqual(measured, {"H200", "H100"})
        for page in (self.page("live.md"), " ".join((ROOT / "README.md").read_text().split())):
            told = re.findall(r"ha(?:s|ve) run on (one \w+(?: and one \w+)*)", page)
            self.assertEqual(set(told), {"one H200 and one H100"})

    def test_bubble_is_one_thing_everywhere(self):
        said = "waits for other pipeline stages, for a slow GPU or for the busiest experts"
        glossary = json.loads((ROOT / "assets" / "glossary.json").read_text())
        self.assertIn(said, next(each["says"] for each in glossary["terms"] if each["term"] == "Bubble"))
        self.assertIn(said, self.page("manual.md"))
        command = [BINARIES / "rankscope-sim", "simulate", ROOT / "scenarios" / "50-mixtral-8x7b-ep8.json", "--explain", "--json"]
        uneven = ["--set", "training.moe.imbalance=1.5"]
        step = json.loads(subprocess.run(command + uneven, check=True, capture_output=True, text=True).stdout)
        self.assertTrue(said in json.dumps(step["because"]))
        self.assertLess(0, step["expert_wait_fraction"])
        self.assertLess(step["expert_wait_fraction"], step["bubble_fraction"])  # the busiest experts are part of it


if __name__ == "__main__":
    unittest.main()
