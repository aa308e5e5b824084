// What a problem calls nearest is right: put in its place it makes the problem at that key go away.
#include "sim/scenario/document.h"
#include "sim/scenario/pointer_text.h"
#include "tests/support/catalogue.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace sim;
using test::catalogue;

namespace {

/// POINTER=VALUE of what a message offers after "nearest:": values of the problem's own key, and what names another one.
std::vector<std::string> offersOf(const Problem& problem)
{
    constexpr std::string_view kMark = "; nearest: ";
    const std::size_t at = problem.message.find(kMark);
    std::vector<std::string> offers;
    std::string key = problem.pointer; // that a bare value is of
    std::string rest = at == std::string::npos ? "" : problem.message.substr(at + kMark.size());
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(", "), rest.size());
        std::string offer = rest.substr(0, end);
        rest.erase(0, std::min(end + 2, rest.size()));
        if (offer.starts_with("or "))
            offer.erase(0, 3);
        if (offer.starts_with("give ") || offer.starts_with("leave "))
            continue;
        const std::size_t space = offer.find(' ');
        const std::string first = offer.substr(0, space), second = space == std::string::npos ? "" : offer.substr(space + 1);
        const bool isPart =
            second.empty() && problem.message.find(" pipeline ranks", at) != std::string::npos; // "6, 8 pipeline …"
        if (second.empty() && !isPart)
            offers.push_back(key + "=" + first);
        else if (isPart || second == "pipeline ranks")
            offers.push_back("/layout/pp=" + first);
        else {
            key = (first == "kind" || first == "microbatch_group" ? "/schedule/"
                   : first == "nodes"                             ? "/cluster/"
                   : first == "micro_batch_size"                  ? "/training/"
                                                                  : "/layout/") +
                  first;
            offers.push_back(key + "=" + second);
        }
    }
    return offers;
}

bool hasErrorAt(const std::vector<Problem>& problems, const std::string& pointer)
{
    return std::any_of(problems.begin(), problems.end(),
                       [&](const Problem& p) { return p.severity == Severity::error && p.pointer == pointer; });
}

} // namespace

TEST(Nearest, IsRightWhereverTheGalleryIsChanged)
{
    const std::vector<std::pair<std::string, std::vector<std::string>>> changes = {
        {"layout.tp", {"1", "2", "3", "5", "6", "7", "8", "12", "16", "48"}},
        {"layout.pp", {"1", "2", "3", "5", "7", "8", "17", "64"}},
        {"layout.dp", {"1", "2", "3", "5", "7", "16", "4096"}},
        {"layout.cp", {"1", "2", "3", "4", "7"}},
        {"layout.ep", {"1", "2", "3", "5", "6", "8", "64"}},
        {"layout.etp", {"1", "2", "3", "5", "7", "8"}},
        {"layout.dp_shard", {"1", "2", "3", "5", "7"}},
        {"model.num_hidden_layers", {"1", "2", "3", "7", "13", "126"}},
        {"model.num_experts", {"0", "1", "3", "6", "7", "8", "60"}},
        {"model.num_experts_per_tok", {"1", "3", "100"}},
        {"model.moe_intermediate_size", {"0", "7", "96", "1000"}},
        {"model.num_attention_heads", {"1", "3", "6", "7", "12"}},
        {"model.num_key_value_heads", {"1", "3", "6", "7", "12"}},
        {"model.max_position_embeddings", {"100", "4097"}},
        {"model.position_embedding", {"learned", "rope"}},
        {"schedule.kind",
         {"gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-h2", "zb-1p", "zb-v", "v-half", "v-min",
          "interleaved-zb", "dualpipe", "dualpipe-v", "seq-1f1b", "auto"}},
        {"schedule.virtual_stages", {"1", "2", "3", "5", "8", "40"}},
        {"schedule.microbatch_group", {"1", "2", "3", "5", "9", "100"}},
        {"schedule.sequence_slices", {"1", "2", "3", "5", "7"}},
        {"training.global_batch_size", {"1", "2", "3", "5", "7", "12", "100", "1000000000"}},
        {"training.micro_batch_size", {"1", "2", "3", "5", "7"}},
        {"training.sequence_length", {"1", "7", "100", "4095", "100000"}},
        {"training.causal", {"false"}},
        {"cluster.nodes", {"1", "3", "31"}},
    };
    const auto files = test::galleryFiles();
    std::mt19937 random(7);
    int offered = 0;
    for (int round = 0; round < test::tries(6000); ++round) {
        ScenarioDocument document = ScenarioDocument::readFile(files[random() % files.size()]);
        std::string changed = document.fileName();
        std::vector<std::string> made;
        const ScenarioDocument unchanged = document;
        for (int i = round % 2; i < 2; ++i) { // one or two
            const auto& [key, values] = changes[random() % changes.size()];
            made.push_back(key + "=" + values[random() % values.size()]);
            document.applyOverride(made.back());
            changed += " " + made.back();
        }
        const auto before = document.resolve(catalogue()).problems;
        for (const Problem& problem : before)
            for (const std::string& offer : offersOf(problem)) {
                ++offered;
                ScenarioDocument mended = document;
                mended.applyOverride(offer);
                const auto left = mended.resolve(catalogue()).problems;
                const std::string what = changed + "\n" + problem.text() + "\n" + offer;
                EXPECT_FALSE(hasErrorAt(left, problem.pointer)) << what;
                if (offer.starts_with(problem.pointer + "=") || !offer.starts_with("/layout/") ||
                    (problem.pointer != "/cluster/nodes" && problem.pointer != "/training/sequence_length"))
                    continue;
                ScenarioDocument without = unchanged; // what is wrong with it as the file has that size, nobody can mend by it
                for (const std::string& change : made)
                    if (slashed(change.substr(0, change.find('='))) != offer.substr(0, offer.find('=')))
                        without.applyOverride(change);
                const auto others = without.resolve(catalogue()).problems;
                for (const Problem& other : left) // of another size that meets in the rule: it breaks no other
                    EXPECT_TRUE(other.severity != Severity::error || hasErrorAt(others, other.pointer)) << what << "\n"
                                                                                                        << other.text();
            }
    }
    EXPECT_GT(offered, test::tries(1000));
}
