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


if __name__ == "__main__":
    unittest.main()
