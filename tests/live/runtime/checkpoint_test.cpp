// What is saved comes back bit for bit on any layout, or not at all.
#include "live/runtime/checkpoint.h"
#include "live/runtime/crc32.h"
#include "live/runtime/run.h"
#include "live/runtime/tensor_file.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "tests/live/support/jobs.h"

#include <barrier>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sys/fsuid.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace live::test {
namespace {

namespace fs = std::filesystem;

TEST(Crc32, IsThatOfZlib)
{
    EXPECT_EQ(crc32("123456789", 9), 0xCBF43926U);
    EXPECT_EQ(crc32("", 0), 0U);
}

TEST(Crc32, ComesOutOfPiecesInAnyOrder)
{
    std::mt19937 random(1);
    std::string text(100'003, '\0');
    for (char& c : text)
        c = static_cast<char>(random());
    for (const std::size_t piece : {1000UL, 7UL, 64'001UL}) {
        PiecewiseCrc32 even(text.size()), odd(text.size());
        for (std::size_t first = (text.size() - 1) / piece * piece;; first -= piece) {
            (first / piece % 2 == 0 ? even : odd).add(first, text.data() + first, std::min(piece, text.size() - first));
            if (first == 0)
                break;
        }
        even.join(odd.linear());
        EXPECT_EQ(even.value(), crc32(text.data(), text.size())) << piece;
    }
}

/// What a kill leaves: one half written, and where the file system cannot exchange two folders, one that was set aside.
TEST(UnfinishedCheckpoints, AreRemovedAndWhatWasSetAsideTakesItsPlaceAgain)
{
    const fs::path folder = fs::path(testing::TempDir()) / "rankscope_unfinished";
    for (const char* const name : {"step-00000001", "step-00000002.part", "step-00000003.old", "step-00000001.old", "notes.old"})
        fs::create_directories(folder / name / "in it");
    removeUnfinishedCheckpoints(folder);
    std::set<std::string> left;
    for (const auto& entry : fs::directory_iterator(folder))
        left.insert(entry.path().filename());
    EXPECT_EQ(left, (std::set<std::string>{"notes.old", "step-00000001", "step-00000003"}));
    EXPECT_TRUE(fs::exists(folder / "step-00000003/in it"));
    fs::remove_all(folder);
}

class Checkpoint : public testing::Test {
protected:
    Checkpoint() { fs::create_directories(m_folder); }
    ~Checkpoint() override { fs::remove_all(m_folder); }

    /// A job of some layout, trained for some steps.
    struct Trained {
        explicit Trained(const Settings& settings, int steps = 0, DType type = DType::f64)
            : pool(1), device(makeCpuDevice(type, &pool)), communicator(makeLocalCommunicator(pool)),
              run(job(settings), {.pool = &pool, .device = device.get(), .communicator = communicator.get(), .record = false})
        {
            run.train(steps);
        }
        std::vector<Snapshot> all()
        {
            std::vector<Snapshot> snapshots;
            for (const Quantity quantity : {Quantity::value, Quantity::firstMoment, Quantity::secondMoment}) {
                Snapshot& snapshot = snapshots.emplace_back();
                for (Rank* rank : run.ranks())
                    addToSnapshot(*rank, quantity, snapshot);
            }
            return snapshots;
        }
        WorkerPool pool;
        std::unique_ptr<Device> device;
        std::unique_ptr<Communicator> communicator;
        live::Run run;
    };
    fs::path save(Trained& trained, int step = 2, bool gradients = false)
    {
        return writeCheckpoint(m_folder, {.step = step, .scenarioJson = "{}", .seed = 7, .gradients = gradients},
                               trained.run.ranks());
    }
    static std::string read(const fs::path& path)
    {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
    static std::string failureOf(const std::function<void()>& action)
    {
        try {
            action();
        } catch (const sim::Error& error) {
            return error.what();
        }
        return "";
    }

    /// action(process, exchange) of two processes, as two threads; what they failed with.
    static std::vector<std::string> together(const std::function<void(int, const ExchangeTexts&)>& action)
    {
        std::barrier meeting(2);
        std::vector<std::string> texts(2), failures(2);
        std::vector<std::jthread> processes;
        for (int process = 0; process < 2; ++process)
            processes.emplace_back([&, process] {
                const auto exchange = [&](const std::string& text) {
                    texts[static_cast<std::size_t>(process)] = text;
                    meeting.arrive_and_wait();
                    const std::vector<std::string> all = texts;
                    meeting.arrive_and_wait();
                    return all;
                };
                failures[static_cast<std::size_t>(process)] = failureOf([&] { action(process, exchange); });
            });
        processes.clear();
        return failures;
    }

    const fs::path m_folder = fs::temp_directory_path() / ("rankscope-checkpoint-test-" + std::to_string(getpid()));
};

TEST_F(Checkpoint, TheNewestHasTheLargestNumberHoweverManyDigits)
{
    for (const char* name : {"step-99999999", "step-100000000", "step-00000007"}) {
        fs::create_directories(m_folder / name);
        std::ofstream(m_folder / name / "manifest.json") << "{}";
    }
    EXPECT_EQ(findCheckpoint(m_folder).filename(), "step-100000000");
}

TEST_F(Checkpoint, KeepsWhatTheRunWasTrainedOnAndBeganWith)
{
    Trained trained({});
    const FileMark data{.bytes = std::uint64_t{1} << 40U, .crc32 = 0xFFFFFFFF}, mark{.bytes = 5, .crc32 = 7};
    CheckpointInfo info{
        .step = 2, .scenarioJson = "{}", .data = data, .weights = WeightsOrigin{.folder = "/a/m\xff", .mark = mark}};
    const auto written = [&] { return readCheckpointInfo(writeCheckpoint(m_folder, info, trained.run.ranks())); };
    EXPECT_EQ(written().data, data);
    ASSERT_TRUE(written().weights);
    EXPECT_EQ(written().weights->folder, "/a/m\uFFFD") << "names are bytes, which JSON does not take";
    EXPECT_EQ(written().weights->mark, mark);
    info.weights = WeightsOrigin{};
    ASSERT_TRUE(written().weights);
    EXPECT_EQ(written().weights->folder, "");
    info.data.reset();
    info.weights.reset();
    EXPECT_FALSE(written().data || written().weights) << "as one of before they were kept";
    readCheckpoint(findCheckpoint(m_folder), trained.run.ranks());

    const fs::path manifest = findCheckpoint(m_folder) / "manifest.json";
    for (const auto& [key, value] : {std::pair{"data", R"({"bytes":1})"},
                                     {"data", "null"},
                                     {"data", R"({"bytes":-1,"crc32":1})"},
                                     {"data", R"({"bytes":1,"crc32":4294967296})"},
                                     {"weights", "7"},
                                     {"weights", R"({"folder":"a","bytes":1})"},
                                     {"weights", R"({"bytes":1,"crc32":1})"}}) {
        auto damaged = nlohmann::json::parse(read(manifest));
        damaged.erase("crc32");
        damaged[key] = nlohmann::json::parse(value);
        const std::string text = damaged.dump();
        damaged["crc32"] = crc32(text.data(), text.size());
        const std::string whole = read(manifest);
        write(manifest, damaged.dump());
        const std::string why = failureOf([&] { readCheckpointInfo(manifest.parent_path()); });
        EXPECT_NE(why.find(std::string("\"") + key + "\""), std::string::npos) << key << value << ": " << why;
        write(manifest, whole);
    }
}

TEST_F(Checkpoint, ComesBackOnEveryLayoutBitForBit)
{
    const Settings wide = {"layout.tp=2", "layout.pp=2", "training.global_batch_size=8"};
    for (const Settings& model :
         {Settings{}, kTied, kLlama, kLlama + kAdapters, kExperts + Settings{"layout.sequence_parallel=true"}}) {
        Trained written(wide + model, 2);
        const fs::path path = save(written);
        EXPECT_EQ(findCheckpoint(m_folder), path);
        EXPECT_EQ(readCheckpointInfo(path).step, 2);
        EXPECT_EQ(readCheckpointInfo(path).seed, 7U);
        for (const Settings& layout :
             {Settings{}, Settings{"layout.dp=4", "layout.zero_stage=3"}, Settings{"layout.tp=2", "layout.dp=2"}}) {
            Settings same = model;
            std::erase(same, "layout.sequence_parallel=true");
            const bool split = same != model && layout.size() == 2 && layout[0] == "layout.tp=2";
            Trained resumed(layout + (split ? model : same));
            readCheckpoint(path, resumed.run.ranks());
            EXPECT_EQ(resumed.all(), written.all()) << (layout.empty() ? "one rank" : layout[0]);
        }
    }
}

TEST_F(Checkpoint, HasTheWholeModelInFilesThatOthersRead)
{
    Trained written(kTp2 + Settings{"layout.dp=2", "layout.zero_stage=2", "live.dtype=fp32"}, 2, DType::f32);
    const fs::path path = save(written, 2, true);
    const std::vector<Snapshot> all = written.all();
    for (const auto& [file, snapshot] :
         {std::pair{"weights", &all[0]}, {"first_moments", &all[1]}, {"second_moments", &all[2]}}) {
        const std::string bytes = read(path / (std::string(file) + ".safetensors"));
        std::uint64_t headerBytes = 0;
        std::memcpy(&headerBytes, bytes.data(), sizeof headerBytes);
        const TensorTable table = TensorTable::parse(bytes.substr(8, headerBytes));
        EXPECT_EQ(8 + headerBytes + table.dataBytes(), bytes.size());
        ASSERT_EQ(table.tensors.size(), snapshot->size());
        for (const auto& [name, values] : *snapshot) {
            const StoredTensor& tensor = table.tensors.at(name);
            EXPECT_EQ(tensor.type, StoredType::f32);
            std::vector<float> stored(values.size());
            ASSERT_EQ(tensor.end - tensor.begin, stored.size() * sizeof(float));
            std::memcpy(stored.data(), bytes.data() + 8 + headerBytes + tensor.begin, stored.size() * sizeof(float));
            EXPECT_TRUE(std::equal(stored.begin(), stored.end(), values.begin())) << name;
        }
    }
    EXPECT_TRUE(fs::exists(path / "gradients.safetensors"));
}

TEST_F(Checkpoint, IsRefusedWhereABitIsWrongOrAnythingIsMissing)
{
    Trained written(kPp2, 1);
    const fs::path path = save(written);
    Trained resumed(Settings{});
    const auto load = [&] { readCheckpoint(path, resumed.run.ranks()); };
    EXPECT_EQ(failureOf(load), "");
    std::mt19937 random(3);
    for (const char* name : {"weights.safetensors", "second_moments.safetensors", "manifest.json"}) {
        const std::string whole = read(path / name);
        for (int i = 0; i < 40; ++i) {
            std::string bytes = whole;
            const std::size_t place = i < 20 ? static_cast<std::size_t>(random()) % std::min<std::size_t>(bytes.size(), 3000)
                                             : static_cast<std::size_t>(random()) % bytes.size();
            bytes[place] = static_cast<char>(bytes[place] ^ 1 << i % 8);
            write(path / name, bytes);
            const std::string failure = failureOf(load);
            const bool onlySpace = std::string_view(name) == "manifest.json" && std::isspace(whole[place]) != 0;
            EXPECT_TRUE(onlySpace || failure.starts_with("checkpoint: ")) << name << " byte " << place << ": " << failure;
        }
        for (const std::size_t size : {0UL, 7UL, 100UL, whole.size() / 2, whole.size() - 8, whole.size() - 3}) {
            write(path / name, whole.substr(0, size));
            EXPECT_TRUE(failureOf(load).starts_with("checkpoint: ")) << name << " cut at " << size;
        }
        fs::remove(path / name);
        EXPECT_NE(failureOf(load), "") << name << " missing";
        write(path / name, whole);
        EXPECT_EQ(failureOf(load), "");
    }
}

TEST_F(Checkpoint, IsRefusedForEveryBitOfAHeaderAndOfWhatIsNotReadBack)
{
    Trained written(Settings{}, 1);
    const fs::path path = save(written, 2, true);
    Trained resumed(Settings{"training.optimizer=sgd"}); // which reads weights alone
    const auto load = [&] { readCheckpoint(path, resumed.run.ranks()); };
    EXPECT_EQ(failureOf(load), "");
    const auto failureWithBit = [&](const char* name, std::size_t place) {
        const std::string whole = read(path / name);
        std::string bytes = whole;
        bytes.at(place) = static_cast<char>(bytes.at(place) ^ 4);
        write(path / name, bytes);
        const std::string failure = failureOf(load);
        write(path / name, whole);
        return failure;
    };
    for (std::size_t place = 0; place < 110; ++place) // its length, and the words about the file
        EXPECT_TRUE(failureWithBit("weights.safetensors", place).starts_with("checkpoint: ")) << "byte " << place;
    for (const char* name : {"gradients.safetensors", "first_moments.safetensors"}) {
        EXPECT_TRUE(failureWithBit(name, 60).starts_with("checkpoint: ")) << name;
        EXPECT_NE(failureWithBit(name, fs::file_size(path / name) - 3).find("the checksum of "), std::string::npos) << name;
    }
}

TEST_F(Checkpoint, OfHostileManifestsIsRefusedPlainly)
{
    Trained written(Settings{}, 1);
    const fs::path path = save(written);
    const std::string whole = read(path / "manifest.json");
    const auto failureWith = [&](const std::string& text) {
        write(path / "manifest.json", text);
        return failureOf([&] { readCheckpointInfo(path); });
    };
    const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
    EXPECT_NE(failureWith(whole.substr(0, whole.rfind('}')) + ",\"more\":" + deep + "}").find("nests deeper"), std::string::npos);
    EXPECT_NE(failureWith(whole + std::string(3, '\0')).find("is damaged: it has bytes of 0"), std::string::npos);
    EXPECT_NE(failureWith(whole + '\0' + whole).find("is damaged: it has bytes of 0"), std::string::npos);
    for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{
             {"step", std::numeric_limits<int>::max()}, {"step", -5}, {"seed", "one"}, {"scenario", 3}}) {
        nlohmann::json manifest = nlohmann::json::parse(whole);
        manifest[key] = value;
        manifest.erase("crc32");
        const std::string text = manifest.dump();
        manifest["crc32"] = crc32(text.data(), text.size());
        EXPECT_TRUE(failureWith(manifest.dump()).starts_with("checkpoint: ")) << key << " " << value;
    }
}

TEST_F(Checkpoint, IsRefusedForAnotherModel)
{
    Trained written(Settings{}, 1);
    const fs::path path = save(written);
    const auto loaded = [&](const Settings& settings) {
        Trained other(settings);
        return failureOf([&] { readCheckpoint(path, other.run.ranks()); });
    };
    EXPECT_NE(loaded({"model.num_hidden_layers=2"}).find("layers.2."), std::string::npos);
    EXPECT_NE(loaded({"model.num_hidden_layers=6"}).find("has no layers.4."), std::string::npos);
    EXPECT_NE(loaded({"model.intermediate_size=128"}).find("64 x 32"), std::string::npos);
}

TEST_F(Checkpoint, ReplacesThatOfTheSameStepAndLeavesNothingElse)
{
    Trained written(kTp2, 1);
    save(written);
    written.run.train(1);
    const fs::path path = save(written);
    Trained resumed(Settings{});
    readCheckpoint(path, resumed.run.ranks());
    EXPECT_EQ(resumed.all(), written.all());
    EXPECT_EQ(std::distance(fs::directory_iterator(m_folder), fs::directory_iterator()), 1);
}

TEST_F(Checkpoint, IsThereThoughTheOneThatItReplacesCannotBeRemoved)
{
    constexpr uid_t kNobody = 65534;
    Trained written(kTp2, 1);
    const fs::path path = save(written);
    fs::create_directories(path / "locked/in it");
    fs::permissions(path / "locked", fs::perms::owner_read | fs::perms::owner_exec);
    fs::permissions(m_folder, fs::perms::all);
    fs::permissions(path, fs::perms::all);
    written.run.train(1);
    const bool isRoot = geteuid() == 0; // who may remove everything
    if (isRoot)
        setfsuid(kNobody);
    EXPECT_EQ(failureOf([&] { save(written); }), "");
    if (isRoot)
        setfsuid(0);
    EXPECT_TRUE(fs::exists(path.string() + ".part/locked/in it"));
    Trained resumed(Settings{});
    readCheckpoint(path, resumed.run.ranks());
    EXPECT_EQ(resumed.all(), written.all());
    fs::permissions(path.string() + ".part/locked", fs::perms::owner_all);
    removeUnfinishedCheckpoints(m_folder);
    EXPECT_FALSE(fs::exists(path.string() + ".part"));
}

TEST_F(Checkpoint, IsWrittenBySeveralProcessesTogetherOrByNone)
{
    Trained written(Settings{"layout.tp=2", "layout.pp=2", "training.global_batch_size=8"}, 2);
    const std::vector<Rank*> ranks = written.run.ranks();
    const auto saveTogether = [&](bool complete) { // the second may lose a rank
        return together([&](int process, const ExchangeTexts& exchange) {
            const auto first = ranks.begin() + 2 * process;
            const std::vector<Rank*> mine(first, first + (process == 1 && !complete ? 1 : 2));
            writeCheckpoint(m_folder, {.step = complete ? 2 : 3, .scenarioJson = "{}"}, mine, process, exchange);
        });
    };
    EXPECT_EQ(saveTogether(true), (std::vector<std::string>{"", ""}));
    const auto load = [&](Trained& trained) {
        return together([&](int process, const ExchangeTexts& exchange) {
            const std::vector<Rank*> all = trained.run.ranks();
            readCheckpoint(findCheckpoint(m_folder), {all.begin() + process, all.begin() + process + 1}, process, exchange);
        });
    };
    Trained resumed(Settings{"layout.dp=2"});
    EXPECT_EQ(load(resumed), (std::vector<std::string>{"", ""}));
    EXPECT_EQ(resumed.all(), written.all());
    Trained smaller(Settings{"layout.pp=2", "model.num_hidden_layers=2"});
    const std::vector<std::string> refused = load(smaller);
    EXPECT_NE(refused[0].find("has layers.2."), std::string::npos) << refused[0] << ": neither process has what the file has";
    EXPECT_EQ(refused[0], refused[1]);

    const std::vector<std::string> failures = saveTogether(false);
    EXPECT_NE(failures[0].find("the ranks have written"), std::string::npos) << failures[0];
    EXPECT_EQ(failures[0], failures[1]);
    EXPECT_EQ(findCheckpoint(m_folder).filename(), "step-00000002");
    EXPECT_FALSE(fs::exists(m_folder / "step-00000003.part"));
}

} // namespace
} // namespace live::test
