"""What `cmake --install` puts somewhere runs from there, and from where it is moved to. Usage: install_test.py CMAKE BUILD_DIR"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop()).resolve()
CMAKE = sys.argv.pop()


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = pathlib.Path(self.folder.name) / "first place"
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", self.place], check=True, stdout=subprocess.DEVNULL)

    def run_there(self, program, *arguments):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RANKSCOPE_")}
        return subprocess.run([self.place / "bin" / program, *arguments], env=environment, cwd=self.folder.name, check=True,
                              capture_output=True, text=True).stdout

    def test_programs_read_the_data_that_lie_beside_them_wherever_that_is(self):
        models = self.place / "share" / "rankscope" / "models"
        only_here = json.loads((models / "tiny-gpt.json").read_text()) | {"num_hidden_layers": 6}
        (models / "only-here.json").write_text(json.dumps(only_here))
        scenario = pathlib.Path(self.folder.name) / "job.json"
        scenario.write_text(json.dumps({"format": "rankscope-scenario", "version": 1, "model": "only-here", "cluster": "laptop",
                                        "layout": {}}))
        moved = pathlib.Path(self.folder.name) / "second"
        for _ in range(2):
            described = json.loads(self.run_there("rankscope-sim", "describe", scenario, "--json"))
            self.assertEqual(described["model"]["num_hidden_layers"], 6)
            if not moved.exists():
                shutil.move(self.place, moved)
                self.place = moved

    def test_modules_lie_where_programs_look_for_them(self):
        modules = list(self.place.glob("lib*/**/rankscope_live_*.so"))
        if not modules:
            self.skipTest("this build has no modules")
        self.assertIn(str(modules[0].parent), self.run_there("rankscope-live", "doctor"))

    def test_what_a_desktop_wants_is_there(self):
        if not (self.place / "bin" / "rankscope").exists():
            self.skipTest("this build has no window")
        share = self.place / "share"
        for file in ("applications/rankscope.desktop", "metainfo/rankscope.metainfo.xml", "mime/packages/rankscope.xml", "thumbnailers/rankscope.thumbnailer",
                     "icons/hicolor/scalable/apps/rankscope.svg", "man/man1/rankscope.1.gz",
                     "bash-completion/completions/rankscope", "rankscope/gallery.json", "rankscope/page.html", "rankscope/glossary.json", "rankscope/docs/manual.md"):
            self.assertTrue((share / file).exists(), file)
        gallery = json.loads((share / "rankscope" / "gallery.json").read_text())
        for theme in gallery["themes"]:
            for name in theme["files"]:
                self.assertTrue((share / "rankscope" / "scenarios" / f"{name}.json").exists(), name)


if __name__ == "__main__":
    unittest.main()
