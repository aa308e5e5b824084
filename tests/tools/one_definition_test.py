"""The linter that refuses a second definition of a name, held against a file of each trap."""
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TOOL = HERE.parent.parent / "tools" / "one_definition.py"
FIRST, SECOND = (str(HERE / "one_definition" / name) for name in ("first.txt", "second.txt"))


class OneDefinition(unittest.TestCase):
    def refused(self, *files):
        run = subprocess.run([sys.executable, TOOL, *files], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode != 0, bool(run.stderr))
        return [line.split(": ", 1)[1].split(" is defined")[0] for line in run.stderr.splitlines()]

    def test_refuses_a_type_and_a_function_defined_twice_and_one_of_a_library_in_anonymous_namespaces(self):
        own = ["sim::(anonymous)::Own", "sim::(anonymous)::kGap", "sim::(anonymous)::kFour", "sim::(anonymous)::kMade",
               "sim::(anonymous)::least(int value)"]
        self.assertCountEqual(self.refused(FIRST, SECOND), ["sim::Step", "sim::twice(int value)", *own])

    def test_takes_declarations_specialisations_overloads_and_what_is_a_files_own(self):
        self.assertEqual(self.refused(FIRST), [])

    def test_finds_each_name_of_the_project_defined_once(self):
        self.assertEqual(self.refused(), [])


if __name__ == "__main__":
    unittest.main()
