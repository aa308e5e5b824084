// Writes the run of a large job as an operator would have it, to measure how it opens:
//     rankscope-make-run FOLDER [--dp 16] [--steps 1] [--cache]
// 64 · dp ranks of tp 8, pp 8, with a GPU at 1 / 1.3 of its speed (rank 13). One Kineto file a rank, gzip, or with --cache files
// of an event each and the cache beside the folder, as if they had held the run: 2 to 5 GB for 100 million spans, and three times
// that in memory.
#include "sim/recovery/run_digest.h"
#include "sim/scenario/catalogue.h"
#include "sim/trace/cache/cached_reading.h"

#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <zlib.h>

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBetweenStepsNs = 1'000'000;

sim::Recording oneStep(int dp)
{
    sim::Scenario scenario;
    scenario.model = test::llamaModel(64, 4096, 32, 8, 14336);
    scenario.layout.tp = scenario.layout.etp = 8;
    scenario.layout.pp = 8;
    scenario.layout.dp = dp;
    scenario.layout.sequenceParallel = true;
    scenario.layout.zeroStage = 1;
    scenario.training.sequenceLength = 4096;
    scenario.training.globalBatchSize = 16 * dp;
    test::resolve(scenario);
    scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 13, .factor = 1.3});
    return test::recordingOf(*sim::simulate(scenario, {.full = true}));
}

std::pair<std::int64_t, std::int64_t> extentOf(const sim::Recording& recording)
{
    std::int64_t begin = INT64_MAX, end = INT64_MIN;
    for (const sim::RankRecording& rank : recording.ranks)
        for (std::size_t i = 0; i < rank.spans.size(); ++i) {
            begin = std::min(begin, rank.spans.startNs[i]);
            end = std::max(end, rank.spans.endNs(i));
        }
    return {begin, end};
}

/// The same step again and again, each marked.
void repeat(sim::Recording& recording, int steps)
{
    const auto [begin, end] = extentOf(recording);
    const std::int64_t period = end - begin + kBetweenStepsNs;
    for (sim::RankRecording& rank : recording.ranks) {
        const sim::RankRecording one = std::exchange(rank, {});
        rank.rank = one.rank;
        rank.worldSize = one.worldSize;
        rank.host = one.host;
        for (const sim::RecordedTrack& track : one.tracks) {
            sim::RecordedTrack& out = rank.tracks.emplace_back(track);
            out.first = static_cast<std::uint32_t>(rank.spans.size());
            for (int step = 0; step < steps; ++step)
                for (std::uint32_t i = track.first; i < track.last; ++i) {
                    rank.spans.startNs.push_back(one.spans.startNs[i] + step * period);
                    rank.spans.durationNs.push_back(one.spans.durationNs[i]);
                    rank.spans.name.push_back(one.spans.name[i]);
                    rank.spans.kind.push_back(one.spans.kind[i]);
                }
            out.last = static_cast<std::uint32_t>(rank.spans.size());
        }
        for (int step = 0; step < steps; ++step) {
            for (sim::RecordedCollective collective : one.collectives) {
                std::size_t track = 0;
                while (collective.span >= one.tracks[track].last)
                    ++track;
                const sim::RecordedTrack& from = one.tracks[track];
                collective.span = rank.tracks[track].first +
                                  static_cast<std::uint32_t>(static_cast<std::size_t>(step) * from.size()) + collective.span -
                                  from.first;
                collective.startNs += step * period;
                rank.collectives.push_back(collective);
            }
            const std::int64_t at = step * period;
            rank.steps.push_back(
                {.number = step, .startNs = begin + at, .endNs = end + at, .deviceStartNs = begin + at, .deviceEndNs = end + at});
        }
        rank.firstNs = begin;
        rank.lastNs = end + (steps - 1) * period;
        rank.file = rank.rank;
    }
}

/// One step as Kineto writes it: a launch and a kernel each.
std::string kinetoText(const sim::Recording& recording, const sim::RankRecording& rank)
{
    std::string text, line(1024, '\0');
    const auto add = [&](const char* format, auto... values) {
        const int length = std::snprintf(line.data(), line.size(), format, values...);
        text.append(line, 0, static_cast<std::size_t>(length));
    };
    const auto [begin, end] = extentOf(recording);
    const auto us = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-3; };
    add(R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":%d,"world_size":%d,"pg_config":[)", rank.rank,
        recording.worldSize);
    bool isFirst = true;
    for (const sim::RecordedGroup& group : recording.groups) {
        if (!std::binary_search(group.ranks.begin(), group.ranks.end(), rank.rank))
            continue;
        add(R"(%s{"pg_name":"%s","pg_desc":"undefined","pg_size":%zu,"ranks":[)", isFirst ? "" : ",", group.name.c_str(),
            group.ranks.size());
        for (const int member : group.ranks)
            add("%s%d", member == group.ranks.front() ? "" : ",", member);
        text += "]}";
        isFirst = false;
    }
    add(R"(]},"traceEvents":[{"ph":"X","cat":"user_annotation","name":"ProfilerStep#0","pid":1,"tid":1,"ts":%.3f,"dur":%.3f})",
        us(begin), us(end - begin));
    std::vector<const sim::RecordedCollective*> of(rank.spans.size(), nullptr);
    for (const sim::RecordedCollective& collective : rank.collectives)
        of[collective.span] = &collective;
    int id = 0;
    for (const sim::RecordedTrack& track : rank.tracks)
        for (std::uint32_t i = track.first; i < track.last; ++i) {
            const char* const name = recording.names[rank.spans.name[i]].c_str();
            const double start = us(rank.spans.startNs[i]), took = us(rank.spans.durationNs[i]);
            if (!track.isDevice) {
                add(R"(,{"ph":"X","cat":"user_annotation","name":"%s","pid":1,"tid":1,"ts":%.3f,"dur":%.3f})", name, start, took);
                continue;
            }
            ++id;
            add(R"(,{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%.3f,"dur":2.1,"args":{"External id":%d,"cbid":211,"correlation":%d}})",
                start - 5, id, id);
            add(R"(,{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"External id":%d,"device":0,"context":1,"stream":%d,"correlation":%d,"grid":[32,8,1],"block":[128,1,1])",
                name, static_cast<int>(track.number), start, took, id, static_cast<int>(track.number), id);
            if (const sim::RecordedCollective* collective = of[i]) {
                const sim::RecordedGroup& group = recording.groups[sim::asIndex(collective->group)];
                add(R"(,"Collective name":"%s","dtype":"BFloat16","In msg nelems":%lld,"Process Group Name":"%s","Group size":%zu)",
                    recording.names[collective->name].c_str(), static_cast<long long>(collective->inElements), group.name.c_str(),
                    group.ranks.size());
                if (collective->sourceRank >= 0)
                    add(R"(,"Src Rank":%d)", collective->sourceRank);
                if (collective->destinationRank >= 0)
                    add(R"(,"Dst Rank":%d)", collective->destinationRank);
            }
            text += "}}";
        }
    return text + "]}";
}

void writeFiles(const sim::Recording& recording, const fs::path& folder)
{
    std::size_t bytes = 0;
    for (const sim::RankRecording& rank : recording.ranks) {
        const std::string text = kinetoText(recording, rank);
        const gzFile file = gzopen((folder / ("rank" + std::to_string(rank.rank) + ".pt.trace.json.gz")).c_str(), "wb1");
        gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
        gzclose(file);
        bytes += text.size();
    }
    std::printf("%zu files, %.2f GB of text\n", recording.ranks.size(), static_cast<double>(bytes) * 1e-9);
}

/// What is found out is that of up to three steps, which takes less memory than all of them.
void writeCache(sim::Recording recording, int steps, const fs::path& folder)
{
    sim::Recording few;
    few.worldSize = recording.worldSize;
    few.groups = recording.groups;
    few.ranks = recording.ranks;
    for (std::uint32_t i = 0; i < recording.names.size(); ++i)
        few.names.add(recording.names[i]);
    repeat(few, std::min(steps, 3));
    std::string digest;
    {
        const sim::Recovered recovered = sim::recover(few);
        const sim::RunAnswers answers = sim::answersOf(few, recovered, sim::Catalogue());
        digest = sim::digestBytes(recovered, answers, sim::digestSteps(few, recovered, answers));
    }
    few = {};
    repeat(recording, steps);
    for (const sim::RankRecording& rank : recording.ranks) {
        const fs::path file = folder / ("rank" + std::to_string(rank.rank) + ".json");
        std::ofstream(file) << R"({"distributedInfo":{"rank":)" << rank.rank << R"(},"traceEvents":[]})";
        recording.files.push_back({.path = file.string(), .format = "Kineto"});
    }
    const std::uint64_t bytes =
        sim::writeRecordingCache(recording, *sim::cacheOriginOf({folder}, {}), {folder}, sim::cachePathOf({folder}),
                                 {{std::string(sim::kDigestName), std::move(digest)}});
    std::printf("%zu ranks, %zu spans, a cache of %.2f GB\n", recording.ranks.size(), recording.spanCount(),
                static_cast<double>(bytes) * 1e-9);
}

} // namespace

int main(int count, char** arguments)
{
    std::vector<std::string_view> words(arguments + 1, arguments + count);
    const auto numberAfter = [&](std::string_view option, int otherwise) {
        const auto found = std::find(words.begin(), words.end(), option);
        return found == words.end() || found + 1 == words.end() ? otherwise : std::atoi((found + 1)->data());
    };
    if (words.empty() || words.front().starts_with("--")) {
        std::fputs("usage: rankscope-make-run FOLDER [--dp 16] [--steps 1] [--cache]\n", stderr);
        return 2;
    }
    const fs::path folder = words.front();
    fs::create_directories(folder);
    sim::Recording step = oneStep(std::max(1, numberAfter("--dp", 16)));
    if (std::find(words.begin(), words.end(), "--cache") != words.end())
        writeCache(std::move(step), std::max(1, numberAfter("--steps", 1)), folder);
    else
        writeFiles(step, folder);
    return 0;
}
