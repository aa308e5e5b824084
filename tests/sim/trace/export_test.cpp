#include "sim/trace/export.h"

#include "sim/error.h"

#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

using namespace sim;

namespace {

namespace fs = std::filesystem;

Trace sampleTrace()
{
    Trace trace;
    trace.title = "sample \"quoted\"";
    trace.processes = {{.rank = 0, .multiplicity = 4, .name = "rank 0 (dp0 pp0)"}, {.rank = 4, .name = "rank 4\n→ ü"}};
    trace.kinds = {{.name = "0F", .opClass = OpClass::forward, .stage = 0},
                   {.name = "attn\\qkv", .opClass = OpClass::forward, .stage = 0, .layer = 3, .flops = 1.5e12},
                   {.name = "reduce", .opClass = OpClass::tpComm, .group = "tp", .bytes = 4096}};
    const auto track = [](int process, std::string name, std::vector<std::int64_t> starts, std::vector<std::int64_t> lengths,
                          std::vector<std::uint32_t> kinds) {
        Track t{.process = process, .name = std::move(name), .role = TrackRole::compute};
        t.startNs = std::move(starts);
        t.durationNs = std::move(lengths);
        t.kind = std::move(kinds);
        t.microbatch.assign(t.kind.size(), 2);
        return t;
    };
    trace.tracks = {track(0, "actions", {0, 1000}, {1000, 1500}, {0, 0}),
                    track(0, "compute", {0, 400, 1001}, {400, 600, 999}, {1, 1, 1}),
                    track(1, "tp comm", {500, 700, 2000}, {1000, 1000, 7}, {2, 2, 2})}; // two overlap without nesting
    trace.tracks[2].correlation = {77, 78, 0};
    trace.flows = {{0, 1, 2, 2}};
    trace.counters = {{.process = 0, .name = "memory", .unit = "bytes", .timeNs = {0, 1000}, .value = {1 << 20, 5}}};
    trace.endNs = 2500;
    return trace;
}

struct Slice {
    std::string row, name;
    std::int64_t begin = 0, end = 0;
    std::uint64_t correlation = 0;
    std::vector<std::uint64_t> starts, finishes; ///< flows
    std::map<std::string, double> numbers;
    std::map<std::string, std::string> words;
};

struct Decoded {
    std::vector<Slice> slices; ///< by end
    std::map<std::uint64_t, std::string> processes;
    std::vector<std::pair<std::int64_t, std::int64_t>> counter;
};

/// Reads what Perfetto would, and checks what it insists on: descriptors first, brackets that match, time that does not go back.
Decoded decode(const std::string& bytes)
{
    Decoded out;
    std::map<std::uint64_t, std::string> names, notes, strings, rows;
    std::map<std::uint64_t, std::vector<Slice>> open;
    std::map<std::uint64_t, std::int64_t> lastTime;
    protozero::pbf_reader file(bytes);
    bool isFirst = true;
    while (file.next(1)) {
        std::int64_t time = 0;
        protozero::pbf_reader event, descriptor, interned;
        std::uint32_t sequence = 0, flags = 0;
        auto packet = file.get_message();
        while (packet.next())
            switch (packet.tag()) {
            case 8:
                time = static_cast<std::int64_t>(packet.get_uint64());
                break;
            case 10:
                sequence = packet.get_uint32();
                break;
            case 11:
                event = packet.get_message();
                break;
            case 12:
                interned = packet.get_message();
                break;
            case 13:
                flags = packet.get_uint32();
                break;
            case 60:
                descriptor = packet.get_message();
                break;
            default:
                ADD_FAILURE() << "unknown field " << packet.tag();
                packet.skip();
            }
        EXPECT_NE(sequence, 0U);
        EXPECT_EQ(isFirst, (flags & 1U) != 0) << "the first packet clears the state";
        isFirst = false;
        while (interned.next()) {
            const auto field = interned.tag();
            auto entry = interned.get_message();
            std::uint64_t id = 0;
            std::string text;
            while (entry.next()) {
                if (entry.tag() == 1)
                    id = entry.get_uint64();
                else
                    text = entry.get_string();
            }
            EXPECT_NE(id, 0U);
            (field == 2 ? names : field == 3 ? notes : field == 29 ? strings : rows)[field == 1 ? 1000000 + id : id] = text;
        }
        std::uint64_t uuid = 0;
        while (descriptor.next())
            switch (descriptor.tag()) {
            case 1:
                uuid = descriptor.get_uint64();
                break;
            case 3:
            case 4: {
                const bool isProcess = descriptor.tag() == 3;
                auto message = descriptor.get_message();
                while (message.next())
                    if (message.tag() == (isProcess ? 6U : 5U))
                        (isProcess ? out.processes : rows)[uuid] = message.get_string();
                    else
                        message.skip();
                break;
            }
            case 2:
                rows[uuid] = descriptor.get_string();
                break;
            default:
                descriptor.skip();
            }
        int type = 0;
        Slice slice;
        std::uint64_t track = 0;
        std::int64_t value = 0;
        while (event.next())
            switch (event.tag()) {
            case 3:
                event.skip();
                break;
            case 4: {
                auto note = event.get_message();
                std::string key;
                while (note.next())
                    switch (note.tag()) {
                    case 1:
                        key = notes.at(note.get_uint64());
                        break;
                    case 4:
                        slice.numbers[key] = static_cast<double>(note.get_int64());
                        break;
                    case 5:
                        slice.numbers[key] = note.get_double();
                        break;
                    default:
                        slice.words[key] = strings.at(note.get_uint64());
                    }
                break;
            }
            case 9:
                type = event.get_int32();
                break;
            case 10:
                slice.name = names.at(event.get_uint64());
                break;
            case 11:
                track = event.get_uint64();
                break;
            case 30:
                value = event.get_int64();
                break;
            case 47:
                slice.starts.push_back(event.get_fixed64());
                break;
            case 48:
                slice.finishes.push_back(event.get_fixed64());
                break;
            case 52:
                slice.correlation = event.get_uint64();
                break;
            default:
                ADD_FAILURE() << "unknown event field " << event.tag();
                event.skip();
            }
        if (type == 0)
            continue;
        EXPECT_TRUE(rows.contains(track)) << "a descriptor comes before its events";
        EXPECT_GE(time, lastTime[track]);
        lastTime[track] = time;
        if (type == 1) {
            slice.row = rows[track];
            slice.begin = time;
            open[track].push_back(slice);
        } else if (type == 2) {
            if (open[track].empty()) {
                ADD_FAILURE() << "an end without a begin";
                continue;
            }
            open[track].back().end = time;
            out.slices.push_back(open[track].back());
            open[track].pop_back();
        } else {
            out.counter.emplace_back(time, value);
        }
    }
    for (const auto& [track, slices] : open)
        EXPECT_TRUE(slices.empty()) << "a begin without an end";
    return out;
}

std::string perfetto(const Trace& trace)
{
    std::ostringstream out;
    writePerfetto(trace, out);
    return out.str();
}

nlohmann::json chrome(const Trace& trace)
{
    std::ostringstream out;
    writeChromeJson(trace, out);
    return nlohmann::json::parse(out.str());
}

} // namespace

TEST(Perfetto, HoldsEverySpanWithItsTimesAndNames)
{
    const Trace trace = sampleTrace();
    const Decoded decoded = decode(perfetto(trace));
    ASSERT_EQ(decoded.slices.size(), trace.spanCount());
    std::multimap<std::pair<std::int64_t, std::int64_t>, std::string> seen, expected;
    for (const Slice& slice : decoded.slices)
        seen.emplace(std::pair(slice.begin, slice.end), slice.name);
    for (const Track& track : trace.tracks)
        for (std::size_t i = 0; i < track.size(); ++i)
            expected.emplace(std::pair(track.startNs[i], track.startNs[i] + track.durationNs[i]),
                             trace.kinds[track.kind[i]].name);
    for (const auto& entry : expected)
        EXPECT_EQ(seen.count(entry.first), expected.count(entry.first));
    EXPECT_EQ(decoded.processes.at(2), "rank 4\n→ ü");
}

TEST(Perfetto, LinksSendsAndCollectivesAndCountsMemory)
{
    const Decoded decoded = decode(perfetto(sampleTrace()));
    int starts = 0, finishes = 0;
    for (const Slice& slice : decoded.slices) {
        starts += static_cast<int>(slice.starts.size());
        finishes += static_cast<int>(slice.finishes.size());
        if (slice.begin == 500) {
            EXPECT_EQ(slice.correlation, 77U);
            EXPECT_EQ(slice.words.at("group"), "tp");
            EXPECT_EQ(slice.numbers.at("bytes"), 4096);
        }
        if (slice.begin == 700) {
            EXPECT_EQ(slice.row, "tp comm (2)") << "what overlaps without nesting has a row of its own";
        }
        if (slice.begin == 1001) {
            EXPECT_EQ(slice.numbers.at("flops"), 1.5e12);
        }
    }
    EXPECT_EQ(starts, 1);
    EXPECT_EQ(finishes, 1);
    EXPECT_EQ(decoded.counter, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1 << 20}, {1000, 5}}));
}

TEST(ChromeJson, HoldsEverySpanExactly)
{
    const Trace trace = sampleTrace();
    const auto json = chrome(trace);
    EXPECT_EQ(json.at("traceName"), trace.title);
    std::size_t spans = 0, counters = 0;
    std::map<std::string, int> flows;
    for (const auto& event : json.at("traceEvents")) {
        const std::string phase = event.at("ph");
        spans += phase == "X" ? 1 : 0;
        counters += phase == "C" ? 1 : 0;
        if (phase == "s" || phase == "f")
            ++flows[phase];
        if (phase == "X" && event.at("name") == "attn\\qkv" && event.at("ts") == 1.001) {
            EXPECT_EQ(event.at("dur"), 0.999);
            EXPECT_EQ(event.at("args").at("layer"), 3);
            EXPECT_EQ(event.at("args").at("flops"), 1.5e12);
            EXPECT_EQ(event.at("args").at("micro-batch"), 2);
        }
    }
    EXPECT_EQ(spans, trace.spanCount());
    EXPECT_EQ(counters, 2U);
    EXPECT_EQ(flows, (std::map<std::string, int>{{"f", 1}, {"s", 1}}));
}

TEST(TraceFiles, AreTheSameBytesEachTime)
{
    EXPECT_EQ(perfetto(sampleTrace()), perfetto(sampleTrace()));
    EXPECT_EQ(chrome(sampleTrace()).dump(), chrome(sampleTrace()).dump());
    EXPECT_TRUE(decode(perfetto(Trace{})).slices.empty());
    EXPECT_TRUE(chrome(Trace{}).at("traceEvents").empty());
}

TEST(TraceFiles, AppearWholeOrNotAtAll)
{
    const fs::path folder = fs::temp_directory_path() / ("rankscope_trace_" + std::to_string(::getpid()));
    fs::create_directories(folder);
    saveTrace(sampleTrace(), folder / "a.pftrace");
    saveTrace(sampleTrace(), folder / "a.json");
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        EXPECT_GT(entry.file_size(), 100U);
        ++files;
    }
    EXPECT_EQ(files, 2U) << "no temporary file is left";
    EXPECT_THROW(saveTrace(sampleTrace(), folder / "a.txt"), Error);
    EXPECT_THROW(saveTrace(sampleTrace(), folder / "nowhere" / "a.json"), Error);
    fs::remove_all(folder);
}
