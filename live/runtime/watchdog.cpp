#include "live/runtime/watchdog.h"

#include "live/comm/store.h"
#include "live/record/flight_record.h"
#include "live/runtime/run.h"
#include "sim/error.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace live {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

std::string textOf(const std::vector<StalledRank>& ranks)
{
    json all = json::array();
    for (const StalledRank& rank : ranks) {
        json requests = json::array();
        for (const StalledRank::Request& each : rank.requests)
            requests.push_back({each.what, each.group, each.ranks, each.sequence, each.waitedNs, each.isPending});
        all.push_back({rank.rank, rank.action, rank.actionNs, std::move(requests)});
    }
    return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Adds what another process has told; nothing of what cannot be read, as this is where the run ends and must say why.
void addRanks(const std::string& text, std::vector<StalledRank>& to)
try {
    std::vector<StalledRank> told;
    for (const json& rank : json::parse(text)) {
        StalledRank& added = told.emplace_back();
        added.rank = rank.at(0).get<int>();
        added.action = rank.at(1).get<std::string>();
        added.actionNs = rank.at(2).get<std::int64_t>();
        for (const json& each : rank.at(3))
            added.requests.push_back({each.at(0).get<std::string>(), each.at(1).get<std::string>(),
                                      each.at(2).get<std::vector<int>>(), each.at(3).get<std::int64_t>(),
                                      each.at(4).get<std::int64_t>(), each.at(5).get<bool>()});
    }
    to.insert(to.end(), told.begin(), told.end());
} catch (const json::exception&) {
}

/// Tells the others how this process's ranks stand and adds theirs: of those that tell within `atMost`, as all do that find the
/// run hung.
void exchangeRanks(std::vector<StalledRank>& ranks, Store& store, const std::stop_token& stop, std::chrono::milliseconds atMost)
{
    const auto key = [](const char* what, int process) { return std::string(what) + std::to_string(process); };
    store.set(key("watchdog/ranks/", store.process()), textOf(ranks));
    store.add(key("watchdog/told/", store.process()), 1);
    std::set<int> missing;
    for (int process = 0; process < store.processes(); ++process)
        if (process != store.process())
            missing.insert(process);
    constexpr std::chrono::milliseconds kPause{20};
    for (const auto end = Clock::now() + atMost; !missing.empty() && Clock::now() < end && !stop.stop_requested();) {
        std::erase_if(missing, [&](int process) {
            if (store.add(key("watchdog/told/", process), 0) == 0)
                return false;
            addRanks(store.get(key("watchdog/ranks/", process)), ranks);
            return true;
        });
        if (!missing.empty())
            std::this_thread::sleep_for(kPause);
    }
}

void watch(const std::stop_token& stop, Run& run, std::chrono::milliseconds deadline, Store* store)
{
    const auto interval = std::clamp(deadline / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
    std::vector<const FlightRecord*> records;
    for (Rank* rank : run.ranks())
        records.push_back(&rank->context().flight);
    std::mutex mutex;
    std::condition_variable_any sleep;
    std::unique_lock lock(mutex);
    std::uint64_t progress = 0;
    std::int64_t movedAnywhere = 0;
    auto lastMove = Clock::now();
    while (!sleep.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
        const Run::Pulse pulse = run.pulse();
        bool moves = pulse.computes || !pulse.waits || pulse.progress != progress;
        progress = pulse.progress;
        if (store) {
            const std::int64_t sum = store->add("watchdog", moves ? 1 : 0);
            moves = sum != movedAnywhere;
            movedAnywhere = sum;
        }
        if (moves)
            lastMove = Clock::now();
        if (Clock::now() - lastMove < deadline)
            continue;
        std::vector<StalledRank> ranks =
            stalledRanks(records, std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
        constexpr std::chrono::milliseconds kGrace{1000};
        if (store)
            exchangeRanks(ranks, *store, stop, 2 * interval + kGrace);
        if (stop.stop_requested()) // it has ended meanwhile
            return;
        if (store && store->add("watchdog", 0) != movedAnywhere) { // or goes on
            lastMove = Clock::now();
            continue;
        }
        const std::string reason = "nothing moved for too long: " + describeStall(ranks);
        // Several processes find out at the same time: the first of them tells, and ends the others. Those that it cannot end in
        // time, as where a machine is busy, end in its words: a second account of one hang would look like a second hang.
        if (store && store->add("watchdog/tells", 1) > 1) {
            sleep.wait_for(lock, stop, kGrace, [&] { return stop.stop_requested(); });
            if (stop.stop_requested())
                return;
            run.abort(store->add("watchdog/said", 0) > 0 ? store->get("watchdog/reason") : reason);
            return;
        }
        if (store) {
            store->set("watchdog/reason", reason);
            store->add("watchdog/said", 1);
        }
        run.abort(reason);
        return;
    }
}

} // namespace

Watchdog::Watchdog(Run& run, std::chrono::milliseconds deadline, Store* store)
    : m_thread([&run, deadline, store](const std::stop_token& stop) {
          try {
              watch(stop, run, deadline, store);
          } catch (const sim::Error&) { // NOLINT(bugprone-empty-catch): the store is gone, and with it the run
          }
      })
{
}

} // namespace live
