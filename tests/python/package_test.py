"""The Python package answers as the command line does. Usage: package_test.py BIN_DIR"""
import contextlib
import copy
import csv
import doctest
import io
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = pathlib.Path(sys.argv.pop()).resolve()
os.environ["RANKSCOPE_BIN_DIR"] = str(BINARIES)
sys.path.insert(0, str(ROOT / "python"))
import rankscope  # noqa: E402
from rankscope import _scenario  # noqa: E402

TINY = ROOT / "scenarios" / "60-tiny-tp2-pp2-dp2.json"
LLAMA = ROOT / "scenarios" / "45-llama3-70b-64-gpus.json"


def printed(*arguments, stdin=None):
    return json.loads(subprocess.run([BINARIES / "rankscope-sim", *map(str, arguments)], check=True, capture_output=True, text=True, input=stdin).stdout)


def without_clock(answer):
    plain = answer.to_dict() if isinstance(answer, rankscope.Result) else dict(answer)
    plain.pop("wall_ms")
    return plain


class Answers(unittest.TestCase):
    def test_are_those_of_the_command_line_however_a_scenario_is_handed_over(self):
        expected = without_clock(printed("simulate", LLAMA, "--json"))
        document = json.loads(LLAMA.read_text())
        for scenario in (LLAMA, str(LLAMA), document, LLAMA.read_text()):
            self.assertEqual(without_clock(rankscope.simulate(scenario)), expected)

    def test_of_every_question(self):
        self.assertEqual(rankscope.memory(LLAMA).to_dict(), printed("memory", LLAMA, "--json"))
        self.assertEqual(rankscope.traffic(LLAMA).to_dict(), printed("traffic", LLAMA, "--json"))
        self.assertEqual(rankscope.groups(TINY).to_dict(), printed("groups", TINY, "--json"))
        self.assertEqual(rankscope.groups(TINY, rank=3).to_dict(), printed("groups", TINY, "--rank", 3, "--json"))
        self.assertEqual(rankscope.describe(LLAMA).to_dict(), printed("describe", LLAMA, "--json"))
        self.assertEqual(rankscope.schedule(TINY).to_dict(), printed("schedule", TINY, "--format", "json"))
        self.assertEqual(
            rankscope.schedule(kind="zb-v", stages=4, microbatches=8, times=(1, 1, 1, 0.1)).to_dict(),
            printed("schedule", "--kind", "zb-v", "--stages", 4, "--microbatches", 8, "--times", "1,1,1,0.1", "--format", "json"),
        )
        self.assertIn("because", rankscope.simulate(TINY, explain=True))

    def test_read_as_attributes_and_items(self):
        step = rankscope.simulate(LLAMA)
        self.assertEqual(step.mfu, step["mfu"])
        self.assertEqual(step.exposed_comm_fraction.tp, step["exposed_comm_fraction"]["tp"])
        self.assertGreater(step.per_pipeline_rank[0].busy_s, 0)
        with self.assertRaisesRegex(AttributeError, "no mfuu here; there are: .*mfu"):
            step.mfuu
        with self.assertRaises(AttributeError):
            step.mfu = 1
        self.assertEqual(pickle.loads(pickle.dumps(step)).to_dict(), step.to_dict())
        self.assertEqual(copy.deepcopy(step).to_dict(), step.to_dict())
        self.assertIn("mfu", step._repr_html_())

    def test_a_described_scenario_simulates_to_the_same_numbers(self):
        described = rankscope.describe(LLAMA)
        self.assertEqual(rankscope.simulate(described).step_time_s, rankscope.simulate(LLAMA).step_time_s)


class Overrides(unittest.TestCase):
    def test_change_keys_in_every_spelling(self):
        expected = printed("simulate", LLAMA, "--json", "--set", "layout.tp=8", "--set", "cluster.nodes=16")["step_time_s"]
        for changes in (
            {"layout": {"tp": 8}, "cluster": {"nodes": 16}},
            {"layout.tp": 8, "cluster.nodes": 16},
            {"/layout/tp": 8, "/cluster/nodes": 16},
            {"layout__tp": 8, "cluster__nodes": 16},
        ):
            self.assertEqual(rankscope.simulate(LLAMA, **changes).step_time_s, expected, changes)

    def test_do_not_touch_the_dict_that_was_given(self):
        document = json.loads(TINY.read_text())
        before = copy.deepcopy(document)
        rankscope.simulate(document, layout={"dp": 1}, training__global_batch_size=8)
        rankscope.sweep(document, vary={"training.micro_batch_size": [1, 2]})
        self.assertEqual(document, before)

    def test_erase_and_give_a_base_its_name(self):
        document = {"model": "llama3-8b", "layout": {"tp": 2, "order": "x"}}
        _scenario.set_value(document, "model.vocab_size", 32000)
        _scenario.set_value(document, "layout.order", None)
        _scenario.set_value(document, "training.lora.rank", None)
        self.assertEqual(document, {"model": {"base": "llama3-8b", "vocab_size": 32000}, "layout": {"tp": 2}})
        with self.assertRaises(rankscope.ScenarioError):
            _scenario.set_value(document, "layout.tp.x", 1)

    def test_reach_entries_of_lists_as_set_does(self):
        slow = ROOT / "scenarios" / "21-slow-gpu.json"
        for file, pointer, value in (
            (slow, "perturbations.0.factor", 1.01),
            (slow, "/perturbations/0/factor", 1.01),
            (LLAMA, "/cluster/tiers/1/bandwidth_gbs", 25),
            (LLAMA, "cluster__tiers__0__latency_us", 9),
        ):
            expected = printed("simulate", file, "--json", "--set", f"{pointer.replace('__', '.')}={value}")["step_time_s"]
            self.assertNotEqual(expected, rankscope.simulate(file).step_time_s, pointer)
            self.assertEqual(rankscope.simulate(file, **{pointer: value}).step_time_s, expected, pointer)
        steps = rankscope.sweep(LLAMA, vary={"cluster.tiers.1.bandwidth_gbs": [25, 50]})["step_time_s"]
        self.assertEqual(steps[0], rankscope.simulate(LLAMA, **{"cluster.tiers.1.bandwidth_gbs": 25}).step_time_s)
        self.assertNotEqual(*steps)
        document = {"cluster": {"base": "dgx-a100", "gpus_per_node": 4}, "perturbations": [{"kind": "jitter"}]}
        _scenario.set_value(document, "cluster.tiers.0.latency_us", 9)
        self.assertEqual([tier["span"] for tier in document["cluster"]["tiers"]], [4, "all"])
        _scenario.set_value(document, "perturbations.1.kind", "slow_gpu")
        _scenario.set_value(document, "perturbations.0", None)
        _scenario.set_value(document, "perturbations.7", None)
        self.assertEqual(document["perturbations"], [{"kind": "slow_gpu"}])
        with self.assertRaisesRegex(rankscope.ScenarioError, "the list has 1 entry"):
            _scenario.set_value(document, "perturbations.2.kind", "jitter")

    def test_below_a_word_keep_it_in_the_object_that_it_is_short_for(self):
        recompute = json.loads((ROOT / "scenarios" / "39-recompute-175b-full.json").read_text())
        _scenario.set_value(recompute, "training.recompute.layers", 1)
        self.assertEqual(recompute["training"]["recompute"], {"kind": "full", "layers": 1})
        with self.assertRaisesRegex(rankscope.ScenarioError, "has no keys below it"):
            _scenario.set_value({"training": {"precision": "bf16"}}, "training.precision.bits", 8)


class Problems(unittest.TestCase):
    def test_are_told_all_at_once_with_their_places(self):
        with self.assertRaises(rankscope.ScenarioError) as caught:
            rankscope.simulate(LLAMA, layout={"tp": 3}, training={"micro_batch_sise": 1})
        places = {problem.pointer: problem.message for problem in caught.exception.problems}
        self.assertIn("/layout/tp", places)
        self.assertIn("/training/micro_batch_sise", places)
        self.assertIn("micro_batch_size", places["/training/micro_batch_sise"])
        self.assertIn("/layout/tp: ", str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)
        for question in (rankscope.memory, rankscope.groups, rankscope.describe, rankscope.schedule, rankscope.figure, rankscope.traffic):
            with self.assertRaises(rankscope.ScenarioError) as caught:
                question(LLAMA, layout={"tp": 3})
            self.assertIn("/layout/tp", [p.pointer for p in caught.exception.problems], question)

    def test_of_files_and_texts(self):
        for scenario, told in (("", "is empty"), ("nowhere.json", "No such file"), ("{", "line 1, column 2"), ("{\"a\": 1", "line 1"), (str(ROOT), "directory")):
            with self.assertRaisesRegex(rankscope.ScenarioError, told):
                rankscope.simulate(scenario)
        with self.assertRaises(TypeError):
            rankscope.simulate(3)

    def test_of_none_where_a_text_begins_with_a_byte_order_mark(self):
        text = "\ufeff" + TINY.read_text(encoding="utf-8")
        self.assertEqual(rankscope.simulate(text).step_time_s, rankscope.simulate(TINY).step_time_s)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "marked.json"
            file.write_text(text, encoding="utf-8")
            self.assertEqual(rankscope.simulate(file).step_time_s, rankscope.simulate(TINY).step_time_s)

    def test_are_listed_without_an_exception(self):
        self.assertEqual([p for p in rankscope.validate(LLAMA) if p.severity == "error"], [])
        self.assertIn("/layout/tp", [p.pointer for p in rankscope.validate(LLAMA, layout={"tp": 3})])

    def test_of_a_question_that_is_none(self):
        with self.assertRaisesRegex(rankscope.ProgramError, "there are"):
            rankscope.figure(TINY, "timelines")
        for refused in (rankscope.ProgramError, rankscope.ScenarioError):  # whichever a script expects
            with self.assertRaises(refused) as caught:
                rankscope.schedule(kind="zb-w", stages=4, microbatches=8)
            self.assertIn("zb-w", caught.exception.problems[0].message)
            copied = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(copied), str(copied)), (type(caught.exception), str(caught.exception)))
        with tempfile.NamedTemporaryFile(suffix=".json") as no_trace:
            with self.assertRaises(rankscope.ScenarioError) as caught:
                rankscope.open_trace(no_trace.name)
            self.assertTrue(caught.exception.problems)
        with self.assertRaises(TypeError):
            rankscope.schedule(TINY, kind="zb-v")
        with self.assertRaisesRegex(rankscope.ScenarioError, "rank 99"):
            rankscope.groups(TINY, rank=99)

    def test_name_the_argument_that_was_given_and_not_the_command_line(self):
        job, settings = str(LLAMA), "torchrun pretrain_gpt.py --num-layers 2"
        for told, question in (
            ("training__tokens=15e12", lambda: rankscope.plan(job, days=21)),
            ('framework: "foo" is none of megatron, torchtitan, deepspeed, ', lambda: rankscope.plan(job, framework="foo")),
            ('framework: "megatro" is none of .*; nearest: "megatron"', lambda: rankscope.plan(job, framework="megatro")),
            ("margin_gib: ", lambda: rankscope.plan(job, margin_gib=-3)),
            ("^days excludes sizes$", lambda: rankscope.plan(job, days=2, sizes=[8])),
            ("^robust excludes least_change$", lambda: rankscope.plan(job, least_change=True, robust=True)),
            ("objective cost needs price", lambda: rankscope.plan(job, objective="cost")),
            ('free: "layout.foo" is none of', lambda: rankscope.plan(job, free="layout.foo")),
            ('there is no view "foo"; there are .*block$', lambda: rankscope.figure(job, "foo")),
            ('theme: "dim" is neither light nor dark$', lambda: rankscope.figure(job, theme="dim")),
            ("kind 1f1b needs stages and microbatches", lambda: rankscope.schedule(kind="1f1b", stages=4)),
            ("^rank: ", lambda: rankscope.groups(job, rank=99)),
            ("; say which with kind$", lambda: rankscope.import_settings("nothing --here 1")),
            ('kind: "foo" is none of', lambda: rankscope.import_settings(settings, "foo")),
            ('kind: "foo" is none of', lambda: rankscope.export_settings(job, "foo")),
        ):
            with self.subTest(told), self.assertRaisesRegex(rankscope.ScenarioError, told) as caught:
                question()
            self.assertNotRegex(str(caught.exception), "--|usage|Run with|rankscope-")
        for told, question in (
            (r"vary: layout.tp has a list of values, such as \[2\], not 2", lambda: rankscope.sweep(job, vary={"layout.tp": 2})),
            ("open_trace takes paths, not int", lambda: rankscope.open_trace(5)),
            ("open_trace takes paths, not int", lambda: rankscope.open_trace([5])),
            ("import_settings takes a path, .*, not NoneType", lambda: rankscope.import_settings(None)),
            ("view is a word, .*, not None", lambda: rankscope.figure(job, None)),
            ("sizes takes numbers of GPUs, and has none", lambda: rankscope.plan(job, sizes=[])),
        ):
            with self.subTest(told), self.assertRaisesRegex(TypeError, told):
                question()
        trace = ROOT / "tests" / "data" / "slow-rank" / "run.json.gz"
        for told, question in (  # whichever a script expects
            ("^a scenario is a path, a dict or JSON text, not int$", lambda: rankscope.simulate(5)),
            ("^a scenario is a path, a dict or JSON text, not int$", lambda: rankscope.plan(5)),
            ("^a scenario is a path, a dict or JSON text, not int$", lambda: rankscope.figure(5, "timeline")),
            ("^a scenario is a path, a dict or JSON text, not list$", lambda: rankscope.simulate([job])),
            ("^sizes takes numbers of GPUs, and has none$", lambda: rankscope.plan(job, sizes=())),
            ("^sizes takes numbers of GPUs, not '8'$", lambda: rankscope.plan(job, sizes="8")),
            ("^sizes takes numbers of GPUs in whole numbers above 0, not 0$", lambda: rankscope.plan(job, sizes=0)),
            ("^fix is a dict of keys and values, ", lambda: rankscope.plan(job, fix=["layout.tp=8"])),
            ("^open_trace takes files of one run, .*, and was given none$", lambda: rankscope.open_trace([])),
            ("^open_trace takes paths, not bytes$", lambda: rankscope.open_trace(b"a.json")),
            ("^save takes paths, not int$", lambda: rankscope.open_trace(trace).save(5)),
            ("^compare takes paths, not NoneType$", lambda: rankscope.open_trace(trace).compare(None)),
            ("^compare takes runs of one file or one folder each, not of 2: ", lambda: rankscope.open_trace(trace).compare(rankscope.open_trace(trace, trace))),
        ):
            for kind in (TypeError, rankscope.ScenarioError):
                with self.subTest(told, kind=kind), self.assertRaisesRegex(kind, told) as caught:
                    question()
                self.assertTrue(caught.exception.problems)
            copied = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(copied), str(copied)), (type(caught.exception), str(caught.exception)))
        for path, told in (("", "'': there is no such file"), ("a\0b", r"'a\x00b': there is no such file")):
            with self.subTest(path), self.assertRaises(FileNotFoundError) as caught:
                rankscope.open_trace(path)
            self.assertIn(told, caught.exception.problems[0].message)
        for told, question in (
            (r"'a\\x00b': embedded null", lambda: rankscope.simulate("a\0b")),
            ("^/layout/tp: is given twice, by layout and by layout__tp$", lambda: rankscope.simulate(job, layout={"tp": 4}, layout__tp=8)),
            ("^/layout/tp: is given twice, by layout.tp and by /layout/tp$", lambda: rankscope.simulate(job, **{"layout.tp": 4, "/layout/tp": 4})),
        ):
            with self.subTest(told), self.assertRaisesRegex(rankscope.ScenarioError, told):
                question()
        for nothing in (rankscope.schedule, rankscope.open_trace, lambda: rankscope.import_settings([])):
            with self.assertRaisesRegex(TypeError, " takes? "):
                nothing()

    def test_a_program_that_is_missing_is_told(self):
        os.environ["RANKSCOPE_BIN_DIR"] = "/nowhere"
        path, os.environ["PATH"] = os.environ["PATH"], ""
        try:
            if not (ROOT / "build" / "bin" / "rankscope-sim").exists():
                with self.assertRaisesRegex(rankscope.ProgramError, "RANKSCOPE_BIN_DIR"):
                    rankscope.simulate(TINY)
        finally:
            os.environ["RANKSCOPE_BIN_DIR"], os.environ["PATH"] = str(BINARIES), path


class Sweeps(unittest.TestCase):
    def test_have_a_row_a_combination_the_last_key_fastest(self):
        table = rankscope.sweep(LLAMA, vary={"layout.tp": [4, 8, 3], "training.micro_batch_size": [1, 2]}, layout={"dp": 1})
        self.assertEqual(table["layout.tp"], [4, 4, 8, 8, 3, 3])
        self.assertEqual(table["training.micro_batch_size"], [1, 2] * 3)
        self.assertEqual({len(column) for column in table.values()}, {6})
        self.assertEqual(table["step_time_s"][4:], [None, None])
        self.assertTrue(table["problem"][4].startswith("/"), table["problem"][4])
        self.assertIsNone(table["problem"][0])
        expected = rankscope.simulate(LLAMA, layout={"tp": 8, "dp": 1}, training__micro_batch_size=2)
        self.assertEqual(table["step_time_s"][3], expected.step_time_s)
        self.assertEqual(table.best()["tokens_per_second"], max(row["tokens_per_second"] for row in table.rows() if row["fits"]))
        self.assertIn("<table>", table._repr_html_())
        for none in (table, rankscope.sweep(LLAMA, vary={"layout.tp": [3]})):
            with self.assertRaisesRegex(ValueError, "there is no column 'zz'; there are: layout.tp, "):
                none.best("zz")

    def test_of_batches_the_best_is_the_fastest_not_the_shortest_step(self):
        table = rankscope.sweep(TINY, vary={"training.global_batch_size": [8, 16, 32]})
        self.assertEqual(table.best()["training.global_batch_size"], 32)
        self.assertEqual(table.best("step_time_s")["training.global_batch_size"], 8)

    def test_say_what_does_not_keep_its_cap_or_fit_the_hosts(self):
        def told(file, key, values, **overrides):  # by the command line
            settings = [word for pointer, value in overrides.items() for word in ("--set", f"{pointer}={value}")]
            command = [BINARIES / "rankscope-sim", "sweep", file, "--vary", f"{key}={','.join(map(str, values))}", "--csv", *settings]
            return list(csv.DictReader(io.StringIO(subprocess.run(command, check=True, capture_output=True, text=True).stdout)))

        capped = ROOT / "scenarios" / "73-schedule-auto.json"
        offloads = {"training.offload.optimizer": 1, "cluster.host.memory_gib": 1}
        for file, key, values, overrides in (
            (capped, "schedule.memory_cap_gib", [1, 20], {}),
            (capped, "schedule.memory_cap_gib", [1, 1.0], {}),
            (LLAMA, "training.micro_batch_size", [1], offloads),
        ):
            rows = told(file, key, values, **overrides)
            table = rankscope.sweep(file, vary={key: values}, **overrides)
            self.assertEqual([problem or "" for problem in table["problem"]], [row["problem"] for row in rows], key)
            self.assertTrue(table["problem"][0].startswith("/"))
            self.assertFalse(table["fits"][0])
            self.assertIsNotNone(table["step_time_s"][0])

    def test_of_what_is_no_key_are_refused(self):
        with self.assertRaisesRegex(rankscope.ScenarioError, "layout/tpp"):
            rankscope.sweep(LLAMA, vary={"training.micro_batch_size": [1, 2]}, layout={"tpp": 1})
        with self.assertRaisesRegex(TypeError, "vary is a dict"):
            rankscope.sweep(LLAMA, vary=None)

    def test_of_nothing_are_empty(self):
        self.assertEqual(rankscope.sweep(LLAMA, vary={"layout.tp": []})["step_time_s"], [])

    def test_find_files_beside_the_scenario(self):
        with tempfile.TemporaryDirectory() as folder:
            order = rankscope.schedule(kind="1f1b", stages=2, microbatches=4).ranks
            (pathlib.Path(folder) / "order.csv").write_text("\n".join(row.replace(" ", ",") for row in order) + "\n")
            scenario = pathlib.Path(folder) / "mine.json"
            document = json.loads((ROOT / "scenarios" / "58-tiny-pp4-1f1b.json").read_text())
            document.pop("view", None)
            document["layout"]["pp"] = 2
            document["schedule"] = {"kind": "custom", "actions": "order.csv"}
            document["training"].update(global_batch_size=4 * document["training"].get("micro_batch_size", 1) * document["layout"].get("dp", 1))
            scenario.write_text(json.dumps(document))
            alone = rankscope.simulate(scenario).step_time_s
            self.assertEqual(rankscope.sweep(scenario, vary={"training.causal": [True]})["step_time_s"], [alone])
            self.assertEqual(rankscope.memory(scenario).per_pipeline_rank[0].total > 0, True)


class Planning(unittest.TestCase):
    def test_the_winners_settings_simulate_to_its_time(self):
        answer = rankscope.plan(TINY, gpus=4, free="layout.order", fix={"layout.cp": 1}, why={"layout.tp": 4}, robust=True)
        self.assertEqual(answer.robust.cases[0].name, "as given")
        best = answer.best[0]
        self.assertTrue(answer.proved)
        self.assertEqual(best.settings["/layout/cp"], 1)
        self.assertEqual(rankscope.simulate(TINY, **best.settings).step_time_s, best.step_time_s)
        asked = answer.why[0].best
        self.assertEqual(asked.settings["/layout/tp"], 4)
        self.assertEqual(rankscope.simulate(TINY, **asked.settings).step_time_s, asked.step_time_s)

    def test_keys_that_are_asked_for_together_are_one_question(self):
        answer = rankscope.plan(TINY, gpus=4, fix={"layout.cp": 1}, why={"layout.tp": 2, "layout.pp": 2})
        self.assertEqual(len(answer.why), 1)
        held = rankscope.plan(TINY, gpus=4, fix={"layout.cp": 1, "layout.tp": 2, "layout.pp": 2}).best[0]
        self.assertEqual(answer.why[0].best.step_time_s, held.step_time_s)
        several = rankscope.plan(TINY, gpus=4, fix={"layout.cp": 1}, why=[{"layout.tp": 2}, {"layout.tp": 2, "layout.pp": 2}])
        self.assertEqual([asked.best.settings["/layout/tp"] for asked in several.why], [2, 2])
        self.assertEqual(several.why[1].best.step_time_s, held.step_time_s)
        for told, why in (("not int", [5]), ("not int", 5), ("not str", "layout.tp")):
            with self.assertRaisesRegex(TypeError, f"why is a dict of keys and values, .*, {told}"):
                rankscope.plan(TINY, why=why)

    def test_numbers_may_be_those_of_other_libraries(self):
        class Int64:  # as numpy's: no int
            def __init__(self, value):
                self.value = value

            def item(self):
                return self.value

            def __index__(self):
                return self.value

        plain = rankscope.simulate(LLAMA, layout={"tp": 8, "dp": 1})
        self.assertEqual(rankscope.simulate(LLAMA, layout={"tp": Int64(8), "dp": Int64(1)}).step_time_s, plain.step_time_s)
        table = rankscope.sweep(LLAMA, vary={"layout.tp": [Int64(8)]}, layout={"dp": 1})
        self.assertEqual(table["step_time_s"], [plain.step_time_s])
        self.assertEqual(rankscope.plan(TINY, sizes=[Int64(4)]).sizes[0].best[0].settings, rankscope.plan(TINY, sizes=[4]).sizes[0].best[0].settings)

        class Array:  # as numpy's: no list, and without a truth of its own
            def __init__(self, *values):
                self.values = values

            def __iter__(self):
                return iter(self.values)

            def __len__(self):
                return len(self.values)

            def __bool__(self):
                raise ValueError("the truth value of an array is ambiguous")

            def item(self):
                return self.values[0]

            def tolist(self):
                return [value.item() for value in self.values]

        layers = rankscope.simulate(TINY, layout__pp=2, schedule__layers_per_stage=[1, 3])
        of_array = rankscope.simulate(TINY, layout__pp=2, schedule__layers_per_stage=Array(Int64(1), Int64(3)))
        self.assertEqual(of_array.step_time_s, layers.step_time_s)
        one = rankscope.simulate(TINY, layout__pp=1, schedule__layers_per_stage=Array(Int64(4)))
        self.assertEqual(one.step_time_s, rankscope.simulate(TINY, layout__pp=1, schedule__layers_per_stage=[4]).step_time_s)
        sized = rankscope.plan(TINY, sizes=Array(Int64(4)))
        self.assertEqual(sized.sizes[0].best[0].settings, rankscope.plan(TINY, sizes=[4]).sizes[0].best[0].settings)
        with self.assertRaisesRegex(rankscope.ScenarioError, "is a object: a scenario has numbers"):
            rankscope.simulate(LLAMA, layout={"tp": object()})

    def test_batches_and_sequences_may_grow(self):
        held = {"layout.cp": 1, "layout.pp": 1}
        ramped = rankscope.plan(TINY, gpus=4, fix=held, ramp_batch=(1, 1))
        self.assertEqual(ramped.best[0].settings["/layout/dp"], 1, "the first batch is one sequence")
        phases = rankscope.plan(TINY, gpus=4, fix=held, phases=[64, (128, 8)]).phases
        self.assertEqual([each.phase.sequence_length for each in phases], [64, 128])
        self.assertEqual(phases[1].phase.kept.step_time_s, phases[1].best[0].step_time_s)
        for wrong in ({"ramp_batch": 16}, {"ramp_batch": (1.5, 1)}, {"phases": [(1, 2, 3)]}, {"phases": [0]}):
            with self.assertRaisesRegex(TypeError, "in whole numbers above 0"):
                rankscope.plan(TINY, gpus=4, **wrong)

    def test_days_stand_against_cost_and_smaller_batches_are_searched(self):
        answer = rankscope.plan(TINY, sizes=(2, 4), price=2.0, free="training.global_batch_size", training__tokens=1e9)
        self.assertEqual([each.gpus for each in answer.sizes], [2, 4])
        best = {each.gpus: each.best[0] for each in answer.sizes}
        for one in answer.pareto:
            self.assertEqual((one.run_days, one.cost), (best[one.gpus].run_days, best[one.gpus].cost))
        self.assertAlmostEqual(best[4].pace_s * best[4].settings["/training/global_batch_size"],
                         best[4].step_time_s * answer.sizes[1].pace_batch)
        with self.assertRaisesRegex(TypeError, "in whole numbers above 0"):
            rankscope.plan(TINY, sizes=(2, "four"))

    def test_deadlines_turns_and_the_least_change_can_be_asked_for(self):
        run = {"training__tokens": 1e9}
        slow = rankscope.plan(TINY, gpus=1, top=1, **run).best[0].run_days
        answer = rankscope.plan(TINY, gpus=4, days=0.9 * slow, top=1, **run)
        self.assertGreater(answer.gpus, 1)
        self.assertLessEqual(answer.deadline.run_days, 0.9 * slow)
        self.assertTrue(answer.deadline.fewest)
        turns = rankscope.plan(TINY, gpus=2, fix={"schedule.kind": "1f1b"}, sensitivity=True).sensitivity
        self.assertEqual(turns[-1].pointer, "/cluster/gpu/memory_gib")
        self.assertEqual(rankscope.plan(TINY, gpus=2, simulations=1).simulated, 1)
        gib = 0.9 * rankscope.simulate(TINY).peak_memory_gib
        change = rankscope.plan(TINY, least_change=True, cluster__gpu__memory_gib=gib)
        self.assertTrue(change.found)
        self.assertLessEqual(change.after.peak_memory_gib, gib)

    def test_says_what_is_wrong_with_a_question(self):
        with self.assertRaisesRegex(TypeError, "fix is a dict"):
            rankscope.plan(TINY, fix=["layout.tp"])
        with self.assertRaises(rankscope.ScenarioError) as caught:
            rankscope.plan(TINY, gpus=4, fix={"layout.tp": 3})
        self.assertNotIn("/dev/stdin", str(caught.exception))


class FrameworkSettings(unittest.TestCase):
    SCRIPT = ("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
              "--max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 64 --tensor-model-parallel-size 2 --bf16")

    def test_become_scenarios_and_go_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.sh"
            path.write_text(self.SCRIPT + "\n")
            for settings in (self.SCRIPT, path, [path]):
                imported = rankscope.import_settings(settings, gpus=8)
                self.assertEqual((imported.kind, imported.scenario.layout.tp, imported.scenario.layout.dp), ("megatron-args", 2, 4))
        self.assertTrue(imported.legal)
        text = rankscope.export_settings(imported.scenario, "megatron-args")
        self.assertIn("--tensor-model-parallel-size 2", text)
        again = rankscope.import_settings(str(text), "megatron-args", gpus=8)
        self.assertIn("cluster__base=", {note.pointer: note.text for note in imported.notes}["/cluster"])
        self.assertEqual(rankscope.simulate(again.scenario).step_time_s, rankscope.simulate(imported.scenario).step_time_s)
        with self.assertRaises(rankscope.ScenarioError):
            rankscope.import_settings("nothing --here 1")
        with self.assertRaises(rankscope.ScenarioError) as caught:
            rankscope.export_settings(ROOT / "scenarios" / "65-schedule-zb-h1.json", "megatron-args")
        self.assertEqual([p.pointer for p in caught.exception.problems], ["/schedule/kind"])


class Notebooks(unittest.TestCase):
    def test_run_from_top_to_bottom(self):
        for notebook in sorted((ROOT / "python" / "notebooks").glob("*.ipynb")):
            names = {}
            with contextlib.redirect_stdout(io.StringIO()):
                for cell in json.loads(notebook.read_text())["cells"]:
                    if cell["cell_type"] == "code":
                        exec(compile("".join(cell["source"]), notebook.name, "exec"), names)  # our own
            self.assertLess(names["better"].step_time_s, names["step"].step_time_s)
            self.assertIn("--tensor-model-parallel-size", names["flags"])


class Traces(unittest.TestCase):
    def test_open_and_convert(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = pathlib.Path(folder) / "step.json", pathlib.Path(folder) / "step.pftrace"
            subprocess.run([BINARIES / "rankscope-sim", "simulate", TINY, "--full", "--trace", first], check=True, capture_output=True)
            trace = rankscope.open_trace(first)
            self.assertEqual(len(trace.ranks), 8)
            trace.save(second)
            self.assertEqual(len(rankscope.open_trace(second).ranks), 8)
            self.assertEqual(len(rankscope.open_trace([second]).ranks), 8)
            self.assertIn("axes", dir(trace))
            here = os.getcwd()
            os.chdir(folder)
            try:
                trace.save("-step.json")  # a name, and no option
                self.assertEqual(len(rankscope.open_trace("-step.json").ranks), 8)
            finally:
                os.chdir(here)
            slower = pathlib.Path(folder) / "slower.json"
            subprocess.run(
                [BINARIES / "rankscope-sim", "simulate", TINY, "--full", "--set", "cluster.gpu.efficiency.gemm=0.2", "--trace", slower],
                check=True, capture_output=True,
            )
            difference = trace.compare(slower)
            self.assertEqual(difference.to_dict(), printed("trace", "compare", first, slower, "--json"))
            self.assertEqual((difference.verdict, trace.compare(rankscope.open_trace(first)).verdict), ("slower", "alike"))
        for missing in (FileNotFoundError, rankscope.ScenarioError):  # whichever a script expects
            with self.assertRaises(missing) as caught:
                rankscope.open_trace("--help")
            self.assertIn("--help: there is no such file", caught.exception.problems[0].message)
            copied = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((str(copied), copied.filename), (str(caught.exception), "--help"))


class Examples(unittest.TestCase):
    def setUp(self):
        before = pathlib.Path.cwd()
        os.chdir(ROOT)  # where the scenarios are that examples speak of
        self.addCleanup(os.chdir, before)

    def test_of_docstrings_print_what_they_say(self):
        tried = set()
        for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "rankscope"]:
            for test in doctest.DocTestFinder().find(module):
                told = io.StringIO()
                self.assertEqual(doctest.DocTestRunner(verbose=False).run(test, out=told.write).failed, 0, told.getvalue())
                tried.update([test.name] if test.examples else [])
        self.assertLessEqual({"rankscope", "rankscope.simulator", "rankscope.simulator.sweep"}, tried)

    def test_of_the_readme_print_what_stands_below_them(self):
        names, printed_now, printed_there = {}, io.StringIO(), ""
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "python" / "README.md").read_text(), re.M | re.S):
            if language == "python":
                with contextlib.redirect_stdout(printed_now):
                    exec(compile(block, "python/README.md", "exec"), names)  # our own
            elif language == "text":
                printed_there += block
        self.assertTrue(printed_there)
        self.assertEqual(printed_now.getvalue(), printed_there)
        self.assertEqual(set(names["table"]["problem"]), {None})
        self.assertEqual({rankscope.simulate(names["job"], layout=layout).world_size for layout in names["layouts"]}, {64})

    def test_of_sweeps_compare_jobs_of_the_same_gpus(self):
        swept = re.findall(r"^rankscope-sim sweep FILE (.*?)  ", (ROOT / "README.md").read_text(), re.M)
        self.assertTrue(swept)
        for file in (LLAMA, ROOT / "scenarios" / "05-dp2-tp4-pp2-sixteen-gpus.json"):
            for arguments in swept:
                command = [BINARIES / "rankscope-sim", "sweep", file, *arguments.split()]
                rows = list(csv.DictReader(io.StringIO(subprocess.run(command, check=True, capture_output=True, text=True).stdout)))
                self.assertEqual({row["problem"] for row in rows}, {""}, arguments)
                self.assertNotRegex(arguments, r"layout\.(tp|cp|pp|dp)=")


class Figures(unittest.TestCase):
    def views(self):
        """As the program lists them."""
        told = subprocess.run([BINARIES / "rankscope-figure", "--help"], check=True, capture_output=True, text=True).stdout
        return told.rpartition("VIEW: ")[2].strip().split(", ")

    def test_of_every_view_are_told_of_everywhere(self):
        views = self.views()
        self.assertIn("block", views)
        self.assertIn(f"`--figure {'|'.join(views)} OUT.svg`", (ROOT / "README.md").read_text())
        self.assertIn(f"| {', '.join(views[:-1])} or {views[-1]} as SVG |", (ROOT / "python" / "README.md").read_text())
        self.assertIn(f"({', '.join(views)})", rankscope.figure.__doc__)

    def test_are_svg_of_every_view(self):
        for view in self.views():
            picture = rankscope.figure(TINY, view, width=700)
            root = xml.etree.ElementTree.fromstring(str(picture))
            self.assertTrue(root.tag.endswith("svg"), view)
            self.assertGreater(len(list(root.iter())), 10, view)
            self.assertEqual(picture._repr_svg_(), str(picture))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.svg"
            picture.save(path)
            self.assertEqual(path.read_text(), picture.svg)

    def test_refuse_sizes_that_are_none(self):
        with self.assertRaisesRegex(rankscope.ProgramError, "whole number of pixels from 200 to 8000"):
            rankscope.figure(TINY, width=20)


if __name__ == "__main__":
    unittest.main()
