"""Published measurements against the simulator, with tolerances a little over what it reaches (docs/accuracy.md): a cost that
slips moves one of these. And the calibration's own arithmetic."""
import contextlib
import io
import json
import math
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "accuracy"))
import calibrate  # noqa: E402
import reality  # noqa: E402
import rows as published  # noqa: E402
import score  # noqa: E402
import validate  # noqa: E402

PROGRAM = sys.argv.pop()


class Reality(unittest.TestCase):
    def test_the_window_quotes_the_rows_as_they_are(self):
        with open(ROOT / "assets" / "reality.json", encoding="utf-8") as file:
            self.assertEqual(file.read(), reality.text(), "python3 tools/accuracy/reality.py --write")


class Published(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = published.load(validate.DATA)
        score.predict(PROGRAM, str(ROOT / "assets"), cls.rows)
        cls.answer = validate.report(cls.rows)

    def test_every_row_that_says_enough_is_simulated(self):
        self.assertLessEqual(len(self.answer["failed"]), 2, self.answer["failed"])
        self.assertGreaterEqual(sum(of["n"] for of in self.answer["sources"]), 2500)

    def test_mean_errors_by_source(self):
        most = {"vtrain single node": 8, "dgxc": 7, "nemo-24.07": 6.5, "megatron21": 6.5, "internevo": 6.5, "llm-foundry": 5,
                "zero-bubble": 6.5, "simumax-b200": 4, "korthikanti22": 2.6, "megatron-2020": 5, "megatron-bridge": 12,
                "mcore-r0.8": 12, "fms-fsdp": 4, "torchtitan": 9.5, "hagemann": 7.5, "bigscience": 6.5, "megatron-bridge-new": 14,
                "nemo-long": 10, "automodel": 19, "mcore-moe": 14, "maxtext-tpu": 7, "llm-foundry-40gb": 6, "megatron-lm-llama": 5,
                "qwen-full": 48, "stas": 13, "qwen-lora": 8, "mlperf40-lora-z3": 15, "nemo-2208": 17, "infini": 7, "olmocore": 9,
                "modelzoo": 14, "torchtune": 19, "llmc": 14, "torchtitan-a100": 5, "primus": 11, "thunder": 8, "tinyllama": 14,
                "flashattn": 8, "qwen-lora-z3": 9, "mlperf40-lora": 7.5, "neox20b": 8, "megatron-ds-v100": 8, "automodel-lora": 6,
                "megatron-v100": 5}
        unseen = {published.source(row) for row in self.rows if row.get("set") == "unseen"}
        for of in self.answer["sources"]:
            if of["source"] not in unseen:
                self.assertLessEqual(of["mean_abs"], most[of["source"]], of)

    def test_rows_that_nobody_had_looked_at(self):
        of = self.answer["unseen"]
        self.assertGreaterEqual((of["n"], of["sources"]), (120, 12))
        self.assertLessEqual(of["dense"], 15)
        self.assertLessEqual(of["moe"], 20)
        self.assertGreaterEqual(of["inside"], 60)
        self.assertLessEqual(of["memory"], 20)

    def test_attention_of_long_sequences(self):
        long = [abs(error) for row, error in score.time_errors(self.rows)
                if row["model"]["seq"] >= 65536 and published.source(row) in ("stas", "modelzoo")]
        self.assertGreaterEqual(len(long), 10)
        self.assertLessEqual(score.mean(long), 0.085)
        self.assertLessEqual(max(long), 0.16)

    def test_averages_over_models(self):
        self.assertLessEqual(self.answer["groups"]["dense_known"], 6.2)
        self.assertLessEqual(self.answer["groups"]["moe"], 15.5)
        self.assertLessEqual(self.answer["korthikanti"]["mean"], 2.5)
        self.assertLessEqual(self.answer["korthikanti"]["max"], 7)

    def test_memory_order_bubbles_and_intervals(self):
        most = {"korthikanti22": 4, "simumax-b200": 2, "torchtitan": 7, "zero-bubble": 4.5, "infini": 3, "litgpt-lora": 4,
                "primus": 6, "qwen-full": 19, "qwen-lora": 5, "qwen-lora-z3": 14, "thunder": 11, "stas": 6, "torchtune": 6}
        unseen = {published.source(row) for row in self.rows if row.get("set") == "unseen"}
        for name, of in self.answer["memory"].items():
            if name not in unseen:
                self.assertLessEqual(of["mean_abs"], most[name], name)
        self.assertGreaterEqual(self.answer["oom_right"], 96)
        self.assertGreaterEqual(self.answer["spearman_median"], 0.95)
        self.assertLessEqual(self.answer["regret_median"], 1)
        self.assertLessEqual(self.answer["bubble_points"]["mean"], 0.1)
        self.assertTrue(70 <= self.answer["inside_interval"] <= 90, self.answer["inside_interval"])

    def test_order_of_layouts_on_one_node(self):
        of = self.answer["one_node"]
        self.assertEqual((of["groups"], of["rows"], of["kinds"]), (40, 664, 32))
        self.assertGreaterEqual(of["engine"]["spearman_median"], 0.93)
        self.assertGreaterEqual(of["engine"]["spearman_min"], 0.75)
        self.assertLessEqual(of["engine"]["regret_median"], 6.5)
        self.assertLessEqual(of["engine"]["regret_max"], 30)
        # How a step is put together from its layers loses nothing of the order.
        self.assertGreaterEqual(of["with_factors"]["spearman_median"], 0.97)
        self.assertGreaterEqual(of["with_factors"]["spearman_min"], 0.9)
        self.assertLessEqual(of["with_factors"]["regret_median"], 1)
        self.assertLessEqual(of["with_factors"]["regret_max"], 5)

    def test_the_ratio_of_two_steps_is_as_sure_as_is_said(self):
        with open(ROOT / "assets" / "residuals.json", encoding="utf-8") as file:
            said = json.load(file)["residuals"]
        half, pairs, sources = score.ratio_half(self.rows, 0.8)
        self.assertGreaterEqual(pairs, 2000)
        self.assertGreaterEqual(sources, 4)
        of_all = {of["kind"]: of for of in said if "gpu" not in of}
        self.assertAlmostEqual(half, math.log(of_all["dense"]["ratio"][1]), delta=0.01)
        self.assertLess(half, math.log(of_all["dense"]["step"][1] / of_all["dense"]["step"][0]) / 2)
        # Of each software that was swept four fifths of the pairs lie within what is told of it, and not nearly all.
        by_stack = {}
        for row, difference in score.pairs(self.rows):
            by_stack.setdefault(published.stack_of(row), []).append(difference)
        for of in said:
            held = by_stack.get(of.get("stack"), [])
            if of["kind"] == "dense" and len(held) >= 100 and of["gpu"].startswith("a100"):
                inside = sum(each <= math.log(of["ratio"][1]) for each in held) / len(held)
                self.assertTrue(0.75 <= inside <= 0.85, (of, inside))
        # The order of two layouts is told where they lie further apart than that.
        right = [(predicted > 0) == (measured > 0) for predicted, measured in self.ratios() if abs(predicted) > half]
        self.assertGreaterEqual(len(right), 1000)
        self.assertGreaterEqual(sum(right) / len(right), 0.97)

    def ratios(self):
        """(predicted, measured) logarithms of ratios of pairs of a sweep that are one setting apart."""
        groups = {}
        for row, error in score.time_errors(self.rows):
            if not published.is_moe(row):
                groups.setdefault(score.sweep_key(row), []).append(row)
        return [(math.log(a["predicted"]["step_s"] / b["predicted"]["step_s"]),
                 math.log(published.step_seconds(a) / published.step_seconds(b)))
                for of in groups.values() for i, a in enumerate(of) for b in of[:i] if score.settings_apart(a, b) == 1]

    def test_any_rows_can_be_reported(self):
        by_source = {}
        for row in self.rows:
            by_source.setdefault(published.source(row), []).append(row)
        bare = {key: value for key, value in by_source["dgxc"][0].items() if key not in ("derived", "set")}
        for rows in [*by_source.values(), *(of[:1] for of in by_source.values()), [bare], []]:
            answer = validate.report(rows) | {"winners": None}
            json.dumps(answer, allow_nan=False)
            with contextlib.redirect_stdout(io.StringIO()) as table:
                validate.print_table(answer)
            for row in rows[:1]:
                self.assertRegex(table.getvalue(), f"{published.source(row)} |fits or not|bubbles")
            self.assertNotIn("nan", table.getvalue())

    def test_the_yardstick_is_fitted_to_the_projects_own_rows(self):
        of = [row for row in self.rows if published.source(row) == "megatron-bridge"]
        whole = {row["id"]: error for row, error in score.naive(self.rows)}
        self.assertGreater(len(of), 10)
        self.assertEqual([(row["id"], error) for row, error in score.naive(of)],
                         [(row["id"], whole[row["id"]]) for row in of if row["id"] in whole])

    def test_layers_of_korthikanti(self):
        for error in self.answer["layer_percent"]:
            self.assertLessEqual(abs(error), 5)


class Reading(unittest.TestCase):
    """How a row becomes a scenario."""

    @classmethod
    def setUpClass(cls):
        cls.tiers = score.tiers_of_clusters(str(ROOT / "assets"))
        cls.rows = {row["id"]: row for row in published.load(validate.DATA)}

    def scenario(self, name, **changes):
        return published.scenario_of(self.rows[name] | changes, self.tiers)

    def test_software_names_its_stack(self):
        row = self.rows["qwen-lora/7B/1024"]
        for software, stack in {"DeepSpeed ZeRO-3 (2021)": "deepspeed-2021", "DeepSpeed ZeRO-3, 2024": "deepspeed-2023",
                                "NeMo Megatron 22.09": "megatron-2022", "NeMo 24.07": "megatron-te-2024", "Primus": "megatron-te-2025",
                                "Megatron-MoE ModelZoo": "megatron-te-2025", "HAI-LLM": "megatron-te-2025", "MegaScale": "megatron-te-2024",
                                "Megatron-DeepSpeed 2022-02": "megatron-deepspeed", "Megatron-DeepSpeed 2023": "megatron-deepspeed-2023",
                                "axolotl": "huggingface", "TRL": "huggingface", "HF Transformers, PEFT": "huggingface",
                                "Unsloth": "flash-attn", "llm.c": "flash-attn", "Colossal-AI": "flash-attn", "lit-gpt": "pytorch-eager",
                                "veScale": "pytorch-eager", "torchtune": "pytorch-eager",
                                "torchtune, torch.compile": "pytorch-compiled-2025", "OLMo-core": "pytorch-compiled-2025"}.items():
            self.assertEqual(published.stack_of(row | {"id": "some/row", "software": software, "source": {}}), stack, software)
        self.assertEqual(published.stack_of(row | {"software": "DeepSpeed ZeRO-3", "source": {"date": "2021-04"}}), "deepspeed-2021")
        for name, stack in (("kf-mfu/7b-tp4fsdp2", "kempnerforge"), ("kf-valid/13b-tp4pp2", "kempnerforge-pipelines"),
                            ("kf-mfu/13b-fsdp8", "pytorch-eager")):
            self.assertEqual(published.stack_of(self.rows[name]), stack)
            self.assertEqual(self.scenario(name)["training"]["stack"]["base"], stack)
        self.assertEqual(self.scenario("thunder/tinyllama-eager-fsdp/A100x8")["training"]["stack"],
                         {"base": "pytorch-eager", "gather_bytes": 0})
        for row in self.rows.values():
            self.assertIn(published.stack_of(row) or "megatron-te-2024", {file.stem for file in (ROOT / "assets" / "stacks").iterdir()})

    def test_adapters_are_the_rows_own_or_their_softwares(self):
        peft, megatron = self.rows["qwen-lora/7B/1024"], self.rows["mlperf40-lora/dell/H100x8"]
        self.assertEqual(self.scenario("mlperf40-lora/dell/H100x8")["training"]["lora"],
                         {"rank": 16, "targets": ["q_proj", "k_proj", "v_proj", "o_proj"], "fused": True, "dropout": 0.1})
        self.assertTrue(published.told_enough(peft))
        for row, rank, targets in ((peft, 8, 2), (megatron, 32, 7)):
            silent = {key: value for key, value in row.items() if key != "lora"}
            lora, stated = published.lora_of(silent)
            self.assertEqual((lora["rank"], len(lora["targets"]), stated), (rank, targets, False))
            self.assertFalse(published.told_enough(silent))

    def test_what_is_dropped_and_how_many_logits_exist_are_the_rows_own(self):
        self.assertEqual(self.scenario("qwen-lora/7B/1024")["training"]["lora"]["dropout"], 0.05)
        self.assertNotIn("dropout", self.scenario("automodel-lora/70B/H100x8")["training"]["lora"])
        self.assertEqual(self.scenario("stas/H200/64K")["training"]["loss_chunk_tokens"], 2048)

    def test_nodes_of_a_workstation_keep_their_links_beside_a_network(self):
        one, two = (self.scenario(f"infini/3.5B/4090x{gpus}")["cluster"]["tiers"] for gpus in (8, 16))
        self.assertEqual([tier["bandwidth_gbs"] for tier in one], [25])
        self.assertEqual([(tier["span"], tier["bandwidth_gbs"]) for tier in two], [(8, 25), ("all", 25 / 8)])
        self.assertEqual(two[-1]["gpus_per_nic"], 8)
        self.assertEqual(self.scenario("infini/7B/4090-48x8")["cluster"]["gpu"], {"base": "rtx-4090", "memory_gib": 48})

    def test_mixtures_have_the_stages_groups_and_prediction_of_their_recipes(self):
        self.assertEqual(published.layers_of_stages("Et*4|(t*4|)*14tmL"), [4] * 15 + [1])
        self.assertEqual(published.layers_of_stages("Et|(tt|)*30mL"), [1] + [2] * 30 + [0])
        bridge = "megatron-bridge-new/26.08/DeepSeekV3/GB200x256/MXFP8/tp1pp4cp1vp4ep64/mbs1gbs4096"
        scenario = self.scenario(bridge)
        self.assertEqual(scenario["schedule"]["layers_per_stage"], [4] * 15 + [1])
        self.assertEqual([scenario["model"][key] for key in ("num_nextn_predict_layers", "n_group", "topk_group")], [1, 8, 4])
        earlier = self.scenario("megatron-bridge-new/25.11/DeepSeekV3_(w/o_MTP)/GB200x256/FP8-MX/tp1pp8cp1vp4ep32/mbs1gbs4096")
        self.assertEqual(earlier["schedule"]["layers_per_stage"], [1] + [2] * 30 + [0])
        self.assertNotIn("num_nextn_predict_layers", earlier["model"])
        for gpu, attention, module in (("GB200x256", "unfused", "core_attn"), ("H100x512", None, "mla_up_proj")):
            scenario = self.scenario(f"dgxc/v25.05.05/deepseek-v3/bf16/{gpu}")
            stages = scenario["schedule"]["layers_per_stage"]
            self.assertEqual((sum(stages), stages[1] - stages[0], stages[1] - stages[-1]), (61, 1, 2))
            self.assertEqual(scenario["training"].get("attention"), attention)
            self.assertEqual(scenario["training"]["recompute"]["modules"], [module])
        turn = self.scenario("automodel/kimi-k2/H100x256")["model"]
        self.assertEqual((turn["n_group"], turn["topk_group"]), (48, 1))
        self.assertNotIn("n_group", self.scenario("megatron-bridge-new/26.06/Kimi_K2/GB300x256/MXFP8/tp1pp4cp1vp4ep64/mbs2gbs4096")["model"])

    def test_whether_parameters_are_gathered_ahead_a_stack_may_say(self):
        self.assertNotIn("param_gather", self.scenario("qwen-lora-z3/72B/256")["training"]["overlap"])
        self.assertTrue(self.scenario("torchtitan-a100/8B-op/64gpu")["training"]["overlap"]["param_gather"])

    def test_thunders_steps_have_no_parameters_in_single_precision(self):
        self.assertEqual({self.scenario(name)["training"].get("master_weights") for name in self.rows if name.startswith("thunder/")},
                         {False})
        self.assertNotIn("master_weights", self.scenario("torchtitan-a100/8B-op/64gpu")["training"])

    def test_memory_is_what_its_source_measured(self):
        """Qwen prints 10^9 bytes of the device: 162.0 G of all parameters of 7B were on two GPUs of 80 GiB."""
        self.assertAlmostEqual(published.peak_gib(self.rows["qwen-full/1.8B/256"]), 43.5e9 / 2**30 - 1.3)
        self.assertAlmostEqual(published.peak_gib(self.rows["qwen-lora-z3/72B/256"]), 53.85e9 / 2**30 - 1.3 - 2 * 688 / 1024)
        self.assertAlmostEqual(published.peak_gib(self.rows["stas/B200/8K"]), 16.3 / 1.04)
        self.assertAlmostEqual(published.peak_gib(self.rows["torchtune/3B-lora/A100"]), 8.5)

    def test_what_was_held_before_the_first_step_counts_where_a_figure_is_since_the_process_began(self):
        row = dict(self.rows["stas/B200/8K"], predicted={"peak_gib": 12, "parameters_gib": 1.87})
        self.assertAlmostEqual(score.highest_gib(row), 8 * 1.87)
        self.assertEqual(score.highest_gib(dict(row, id="other/8K")), 12)
        self.assertEqual(score.highest_gib(dict(row, predicted={"peak_gib": 120, "parameters_gib": 1.87})), 120)

    def test_deepspeeds_buckets_are_as_large_as_the_rows_recipe_has_them(self):
        def bucket(name):
            return self.scenario(name)["training"]["stack"].get("reduce_bucket")

        self.assertEqual(bucket("stas/B200/8K"), 500_000_000)
        self.assertEqual(bucket("qwen-full/1.8B/256"), 2048**2)
        self.assertIsNone(bucket("qwen-lora/1.8B/256"))

    def test_what_the_host_has_of_the_optimizer(self):
        self.assertEqual(self.scenario("stas/H200/64K")["training"]["offload"], {"optimizer": 1.0})
        self.assertNotIn("offload", self.scenario("qwen-lora/7B/1024")["training"])

    def test_every_second_group_that_is_told_enough_is_for_calibration(self):
        for name in ("further", "bigscience"):
            self.every_second([row for row in self.rows.values() if row["set"] == name])

    def every_second(self, rows):
        told = [row for row in rows if row["role"] != "info" and "time" in row["checks"] and published.told_enough(row)]
        chosen = set(sorted({row["eval_group"] for row in told})[::2])
        self.assertEqual({row["id"] for row in rows if row["role"] == "calibration"},
                         {row["id"] for row in told if row["eval_group"] in chosen})


class Arithmetic(unittest.TestCase):
    def test_rank_correlation(self):
        self.assertAlmostEqual(score.spearman([1, 2, 3, 4], [10, 20, 30, 40]), 1)
        self.assertAlmostEqual(score.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        self.assertAlmostEqual(score.spearman([1, 2, 2, 3], [1, 2, 2, 3]), 1)  # ties

    def test_quantiles_and_settings_apart(self):
        self.assertEqual(score.quantile([3, 1, 2], 0.5), 2)
        self.assertAlmostEqual(score.quantile([0, 1], 0.8), 0.8)
        a = {"par": {"tp": 1, "pp": 2, "dp": 4}, "batch": {"mbs": 1}, "recompute": "none"}
        b = {"par": {"tp": 2, "pp": 2, "dp": 2}, "batch": {"mbs": 1}, "recompute": "none"}
        self.assertEqual(score.settings_apart(a, b), 1)  # dp follows
        self.assertEqual(score.settings_apart(a, b | {"recompute": "full"}), 2)

    def test_linear_equations(self):
        self.assertEqual([round(value, 9) for value in calibrate.solve([[2, 1], [1, 3]], [5, 10])], [1, 3])

    def test_one_number_in_two_places(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, rate in (("a", 1), ("b", 2)):
                (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps({"rates": [rate], "other": 7}), encoding="utf-8")
            constants = calibrate.Constants(folder, ["a.json:rates.0 = b.json:rates.0", "b.json:other"])
            self.assertEqual(constants.read(), [1, 7])
            constants.write([3, 5])
            self.assertEqual([json.loads((pathlib.Path(folder) / f"{name}.json").read_text(encoding="utf-8")) for name in "ab"],
                             [{"rates": [3], "other": 7}, {"rates": [3], "other": 5}])

    def test_plans_name_constants_and_rows_that_exist(self):
        for path in (ROOT / "tools" / "accuracy" / "plans").iterdir():
            plan = json.loads(path.read_text(encoding="utf-8"))
            self.assertTrue(calibrate.rows_of(plan), path.name)
            for value, (low, high) in zip(calibrate.Constants(str(ROOT / "assets"), list(plan["constants"])).read(),
                                          plan["constants"].values()):
                self.assertTrue(low <= value <= high, path.name)

    def test_catalogue_files_keep_their_form(self):
        for file in (ROOT / "assets" / "stacks").iterdir():
            text = file.read_text(encoding="utf-8")
            self.assertEqual(calibrate.tidy(__import__("json").loads(text)) + "\n", text, file.name)


if __name__ == "__main__":
    unittest.main()
