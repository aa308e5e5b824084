// Each key of a scenario file, changed to something legal that it was not, and out to each kind of settings: it is refused, or
// told, or back when the settings are read again. What is none of these must change neither the step nor its memory.
#include "tests/support/catalogue.h"
#include "tests/support/tries.h"

#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"
#include "sim/simulate/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace sim;

namespace {

struct Key {
    std::string pointer;
    std::vector<std::string> values; ///< JSON
};

/// Lists and objects, of which the schema says no more than what is in them.
const std::map<std::string, std::vector<std::string>, std::less<>>& listValues()
{
    static const std::map<std::string, std::vector<std::string>, std::less<>> all = {
        {"/layout/order", {R"("tp-cp-ep-pp-dp")", R"("tp-cp-pp-dp")"}},
        {"/layout/placement", {R"("round-robin")"}},
        {"/schedule/layers_per_stage", {"[15, 17]", "[12, 15]", "[7, 9, 9, 7]", "[22, 26]"}},
        {"/training/documents/lengths", {"[512, 1024]"}},
        {"/training/documents/weights", {"[1, 3]"}},
        {"/training/recompute", {R"({"kind": "full", "layers": 2})", R"({"kind": "selective", "modules": ["mlp"]})"}},
        {"/training/lora/targets", {R"(["q_proj", "v_proj"])"}},
        {"/training/stack/selective", {R"(["mlp"])"}},
        {"/model/rope_scaling", {R"({"rope_type": "linear", "factor": 2})"}},
        {"/training/stack", {R"("pytorch-eager")", R"("megatron-te-2024")", R"("huggingface")"}},
    };
    return all;
}

/// What no settings are about: names of things, what stands for other keys of the list, and the makings of the software, which is
/// told by its name.
bool isNoSetting(std::string_view pointer)
{
    static constexpr std::string_view kNone[] = {
        "/model/base",
        "/model/name",
        "/model/layer_types",       // window, its pattern and layers without rotations say it
        "/training/recompute/kind", // the scenario says it in /training/recompute, with the next two
        "/training/recompute/layers",
        "/training/recompute/modules",
        "/schedule/actions",        // of the kind "custom" alone, which each refuses
        "/schedule/memory_cap_gib", // of "auto"
        "/schedule/sequence_slices" // of "seq-1f1b"
    };
    return std::find(std::begin(kNone), std::end(kNone), pointer) != std::end(kNone) ||
           (pointer.starts_with("/training/stack/") &&
            (pointer.ends_with("/base") || pointer.ends_with("/id") || pointer.ends_with("/name") || pointer.ends_with("/date") ||
             pointer.ends_with("/use_for")));
}

class Keys {
public:
    Keys()
    {
        std::ifstream file(RANKSCOPE_SOURCE_DIR "/assets/scenario.schema.json");
        m_schema = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
        for (const char* block : {"model", "layout", "schedule", "training"})
            take(m_schema["$defs"][block], std::string("/") + block);
    }
    const std::vector<Key>& all() const { return m_keys; }

private:
    void take(const Json& rule, const std::string& pointer)
    {
        if (const Json* const of = memberOf(rule, "$ref")) {
            take(m_schema.at(Json::json_pointer(of->get<std::string>().substr(1))), pointer);
            return;
        }
        if (const auto listed = listValues().find(pointer); listed != listValues().end())
            m_keys.push_back({pointer, listed->second});
        if (const Json* const forms = memberOf(rule, "anyOf"))
            for (const Json& form : *forms)
                take(form, pointer);
        if (const Json* const members = memberOf(rule, "properties"))
            for (const auto& [name, member] : members->items())
                take(member, pointer + "/" + name);
        else if (std::vector<std::string> values = valuesOf(rule); !values.empty())
            m_keys.push_back({pointer, std::move(values)});
    }

    static std::vector<std::string> valuesOf(const Json& rule)
    {
        std::vector<std::string> values;
        const std::string type = memberOr<std::string>(rule, "type", "");
        if (const Json* const words = memberOf(rule, "enum"))
            for (const Json& word : *words)
                values.push_back(word.dump());
        else if (type == "boolean")
            values = {"true", "false"};
        else if (type == "integer" || type == "number")
            for (const char* text :
                 {"0.25", "2", "3", "4", "1", "0", "1.5", "8", "16", "64", "512", "1024", "2048", "6144", "20000", "100000000"}) {
                const Json value = Json::parse(text);
                if ((type == "number" || value.is_number_integer()) && value >= memberOr<double>(rule, "minimum", -1e300) &&
                    value <= memberOr<double>(rule, "maximum", 1e300))
                    values.emplace_back(text);
            }
        else if (const Json* const items = memberOf(rule, "items");
                 items != nullptr && memberOr<int>(rule, "minItems", 0) == 2 && memberOr<int>(rule, "maxItems", 0) == 2)
            values = {"[2, 3]"};
        return values;
    }

    Json m_schema;
    std::vector<Key> m_keys;
};

/// Jobs beside which keys have a meaning, each of which some frameworks run.
std::vector<ScenarioDocument> jobs()
{
    using Changes = std::vector<std::pair<const char*, const char*>>;
    const std::pair<const char*, Changes> kJobs[] = {
        {"llama3-8b", {{"layout.tp", "2"}, {"layout.dp", "4"}, {"layout.zero_stage", "1"}}},
        {"llama3-8b", {{"layout.dp", "8"}, {"layout.zero_stage", "3"}}},
        {"llama3-8b", {{"layout.dp", "8"}, {"layout.zero_stage", "2"}}},
        {"llama3-8b", {{"layout.pp", "2"}, {"layout.dp", "2"}, {"layout.tp", "2"}, {"layout.zero_stage", "1"}}},
        {"llama3-8b", {{"layout.pp", "2"}, {"layout.dp", "4"}, {"layout.zero_stage", "0"}, {"training.overlap.p2p", "false"}}},
        {"llama3-8b", {{"layout.pp", "2"}, {"layout.dp", "4"}, {"layout.zero_stage", "2"}, {"training.overlap.p2p", "false"}}},
        {"llama2-7b",
         {{"layout.pp", "4"},
          {"layout.dp", "2"},
          {"layout.zero_stage", "1"},
          {"schedule.kind", R"("interleaved-1f1b")"},
          {"schedule.virtual_stages", "2"}}},
        {"llama2-7b", {{"layout.cp", "2"}, {"layout.dp", "4"}, {"layout.zero_stage", "3"}}},
        {"llama2-7b", {{"layout.tp", "2"}, {"layout.sequence_parallel", "true"}, {"layout.dp", "4"}, {"layout.zero_stage", "0"}}},
        {"qwen3-30b-a3b", {{"layout.ep", "4"}, {"layout.dp", "8"}, {"layout.zero_stage", "1"}}},
        {"qwen3-30b-a3b", {{"layout.ep", "4"}, {"layout.dp", "8"}, {"layout.zero_stage", "2"}}},
        {"mixtral-8x7b", {{"layout.dp", "8"}, {"layout.zero_stage", "3"}}},
        {"deepseek-v2-lite", {{"layout.ep", "4"}, {"layout.dp", "8"}, {"layout.zero_stage", "1"}}},
        {"deepseek-v3", {{"layout.ep", "8"}, {"layout.dp", "8"}, {"layout.zero_stage", "1"}, {"model.num_hidden_layers", "8"}}},
        {"gpt-oss-20b", {{"layout.ep", "4"}, {"layout.dp", "8"}, {"layout.zero_stage", "1"}}},
        {"gpt2-xl", {{"layout.dp", "8"}, {"layout.zero_stage", "0"}}},
        {"llama3-8b",
         {{"layout.dp", "8"},
          {"layout.zero_stage", "0"},
          {"training.lora.rank", "8"},
          {"training.documents.lengths", "[512, 256]"}}},
        {"llama3-8b",
         {{"layout.dp", "8"},
          {"layout.zero_stage", "2"},
          {"training.lora.rank", "8"},
          {"training.documents.lengths", "[512, 256]"}}},
    };
    std::vector<ScenarioDocument> all;
    for (const auto& [model, changes] : kJobs) {
        ScenarioDocument job =
            ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": {"base": ")" + std::string(model) +
                                    R"("}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1},
                "training": {"sequence_length": 1024, "global_batch_size": 32, "tokens": 32768000}})");
        for (const auto& [pointer, value] : changes)
            job.set(pointer, value);
        all.push_back(std::move(job));
    }
    return all;
}

std::string valueAt(const Json& scenario, const std::string& pointer)
{
    const Json::json_pointer at(pointer);
    return scenario.contains(at) ? scenario.at(at).dump() : std::string();
}

enum class Fate : std::uint8_t { refused, told, back, without, lost };

/// A change's, of a scenario and what it was before.
Fate fateOf(const Scenario& scenario, const Scenario& before, const std::string& pointer, std::string_view kind)
{
    Exported out;
    try {
        out = exportSettings(scenario, kind, test::catalogue());
    } catch (const Error&) {
        return Fate::refused;
    }
    const auto holds = [](std::string_view outer, std::string_view inner) {
        return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
    };
    for (const Note& note : out.notes)
        if (!note.pointer.empty() && (holds(note.pointer, pointer) || holds(pointer, note.pointer)))
            return Fate::told;
    const Imported imported = importSettings({{"exported", out.text}},
                                             {.kind = std::string(kind), .gpus = scenario.layout.worldSize()}, test::catalogue());
    ScenarioDocument again = ScenarioDocument::parse(imported.scenario);
    const Json want = Json::parse(resolvedText(scenario));
    again.set("/cluster", want["cluster"].dump());
    const ScenarioDocument::Resolved resolved = again.resolve(test::catalogue());
    if (resolved.scenario && valueAt(Json::parse(resolvedText(*resolved.scenario)), pointer) == valueAt(want, pointer))
        return Fate::back;
    const auto now = simulate(scenario), then = simulate(before);
    const bool isSame = now->metrics().stepTimeSeconds == then->metrics().stepTimeSeconds &&
                        now->metrics().peakMemoryGib == then->metrics().peakMemoryGib;
    return isSame ? Fate::without : Fate::lost;
}

} // namespace

TEST(EveryKey, IsBackOrToldWhereAKindOfSettingsIsWritten)
{
    const Keys keys;
    EXPECT_GT(keys.all().size(), 200U);
    const std::vector<ScenarioDocument> bases = jobs();
    std::map<std::string_view, std::vector<std::pair<const ScenarioDocument*, Scenario>>> jobsOf;
    for (const ScenarioDocument& base : bases) {
        const Scenario scenario = resolvedScenario(base, test::catalogue());
        for (const FrameworkKind& kind : frameworkKinds())
            if (kind.isExported)
                try {
                    exportSettings(scenario, kind.id, test::catalogue());
                    jobsOf[kind.id].emplace_back(&base, scenario);
                } catch (const Error&) { // another runs it
                }
    }
    test::Tried which;
    std::map<Fate, int> fates;
    std::map<std::string_view, bool> isSaid; // told, refused or back, of some kind
    std::size_t turn = 0;
    for (const FrameworkKind& kind : frameworkKinds()) {
        if (!kind.isExported)
            continue;
        EXPECT_FALSE(jobsOf[kind.id].empty()) << kind.id;
        for (const Key& key : keys.all()) {
            if (isNoSetting(key.pointer) || (key.pointer.starts_with("/training/stack/") && !which.next()))
                continue;
            bool isSeen = false; // likewise of this kind, with some job
            const std::size_t count = jobsOf[kind.id].size();
            ++turn;
            for (std::size_t i = 0; i < count && (!isSeen || test::oneIn() == 1); ++i) {
                const auto& [base, before] = jobsOf[kind.id][(turn + i) % count];
                // Which software sends tokens is no setting where none are sent: all that is left of it is when the host asks how
                // many each expert has, a ten-thousandth of a step.
                if (key.pointer == "/training/moe/send_once_per_node" && before.layout.ep == 1)
                    continue;
                const std::string old = valueAt(Json::parse(resolvedText(before)), key.pointer);
                int changes = 0;
                for (const std::string& value : key.values) {
                    ScenarioDocument changed = *base;
                    if (key.pointer.starts_with("/training/stack/"))
                        changed.set("/training/stack/base", '"' + before.training.stack.id + '"');
                    changed.set(key.pointer, value);
                    const ScenarioDocument::Resolved resolved = changed.resolve(test::catalogue());
                    if (!resolved.scenario || valueAt(Json::parse(resolvedText(*resolved.scenario)), key.pointer) == old)
                        continue;
                    const Fate fate = fateOf(*resolved.scenario, before, key.pointer, kind.id);
                    ++fates[fate];
                    EXPECT_NE(fate, Fate::lost) << kind.id << " says nothing of " << key.pointer << " = " << value << " beside\n"
                                                << base->text();
                    isSeen = isSeen || fate != Fate::without;
                    if (++changes == 2)
                        break;
                }
            }
            isSaid[key.pointer] = isSaid[key.pointer] || isSeen;
        }
    }
    for (const auto& [pointer, is] : isSaid)
        if (test::oneIn() == 1 || !pointer.starts_with("/training/stack/")) { // else tried of some kinds alone
            EXPECT_TRUE(is) << pointer << " has an effect beside no job of these";
        }
    std::printf("refused %d, told %d, back %d, without effect %d\n", fates[Fate::refused], fates[Fate::told], fates[Fate::back],
                fates[Fate::without]);
}
