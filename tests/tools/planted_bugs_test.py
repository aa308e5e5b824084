"""What tools/planted_bugs.py plants must have a place: code that moves takes its bug along."""
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPEC = importlib.util.spec_from_file_location("planted_bugs", ROOT / "tools" / "planted_bugs.py")
planted_bugs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(planted_bugs)


class PlantedBugs(unittest.TestCase):
    def test_stand_where_they_are_said_to(self):
        for name, file, found, planted in planted_bugs.BUGS:
            with self.subTest(name):
                text = (ROOT / file).read_text(encoding="utf-8")
                self.assertEqual(text.count(found), 1, file)
                self.assertNotEqual(found, planted)

    def test_are_expressions_that_can_be_switched(self):
        files = {}
        for number, entry in enumerate(planted_bugs.BUGS, 1):
            bug = planted_bugs.Bug.listed(entry)
            switched = files.setdefault(bug.file, planted_bugs.Switched(bug.file))
            self.assertTrue(switched.add(number, bug), bug.name)
        for switched in files.values():
            text = switched.file_text()
            self.assertEqual(text.count("\n"), switched.text.count("\n") + 1, "lines keep their numbers, but for the first")
            for number in switched.spans:
                self.assertIn(f"isPlanted({number})", text)

    def test_are_switched_as_whole_expressions(self):
        for text, found, expected in [
                ("x = a * b + c;", "a * b", "x = {};"),
                ("if (a > 1)\n    return b;", "> 1", "if ({})\n    return b;"),
                ("if (ok)\n    n += f(1, 2);", "+=", "if (ok)\n    {};"),
                ("f(a, std::max(b, c), d);", "std::max(b, c)", "f(a, {}, d);"),
                ("} // a block\n    return {.k = a ? b : c, .l = d};", "b : c", "} // a block\n    return {.k = {}, .l = d};")]:
            mask = planted_bugs.masked(text)
            left, right = planted_bugs.expressionAround(mask, text.index(found), text.index(found) + len(found))
            self.assertEqual(text[:left] + "{}" + text[right:], expected)

    def test_planted_together_are_known(self):
        names = [name for name, *_ in planted_bugs.BUGS]
        for name in planted_bugs.TOGETHER:
            self.assertEqual(sum(name in of for of in names), 1, name)

    def test_own_tests_pass_where_only_the_others_are_planted(self):
        own = planted_bugs.ownTests({"A.a", "B.b", "Whole.step"}, {1: {"B.b", "Whole.step"}, 2: {"A.a", "Whole.step", "C.c"},
                                                                    3: {"A.a", "B.b", "Whole.step"}})
        self.assertEqual(own, {1: ["A.a"], 2: ["B.b"], 3: []})

    def test_slips_are_the_same_for_a_seed(self):
        names = lambda seed: [slip.name for slip in planted_bugs.slips(20, seed)]
        self.assertEqual(names(7), names(7))
        self.assertNotEqual(names(7), names(8))


if __name__ == "__main__":
    unittest.main()
