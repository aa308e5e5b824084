// What an attached run says of itself: names of its ranks, its description, who is lost and who waits for whom.
#include "live/stream/attached_run.h"

#include "live/stream/budget.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

namespace live {
namespace {

bool isAxis(const std::string& kind)
{
    return std::find(kCommNames.begin(), kCommNames.end(), kind) != kCommNames.end();
}

/// "rank 3", "ranks 0, 1, 2 and 13 others"
std::string ranksText(const std::vector<int>& ranks)
{
    constexpr std::size_t kNamed = 8;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    const std::size_t named = ranks.size() <= kNamed + 1 ? ranks.size() : kNamed;
    for (std::size_t i = 0; i < named; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (named < ranks.size())
        text += " and " + std::to_string(ranks.size() - named) + " others";
    return text;
}

std::string secondsText(std::int64_t ns)
{
    return std::to_string(ns / 1'000'000'000) + " s";
}

} // namespace

std::string AttachedRun::rankName(int number) const
{
    std::string name = "rank " + std::to_string(number);
    const auto place = m_ranks.find(number);
    if (place == m_ranks.end())
        return name;
    const Rank& rank = *place->second;
    std::map<std::string, std::size_t> coordinates;
    for (const std::uint32_t index : rank.groups) {
        const Group& group = m_groups[index];
        const auto member = std::find(group.ranks.begin(), group.ranks.end(), number);
        if (isAxis(group.kind) && member != group.ranks.end())
            coordinates.try_emplace(group.kind, static_cast<std::size_t>(member - group.ranks.begin()));
    }
    std::string where;
    for (const char* axis : {"dp", "pp", "cp", "ep", "tp"})
        if (const auto coordinate = coordinates.find(axis); coordinate != coordinates.end())
            where += (where.empty() ? "" : " ") + std::string(axis) + std::to_string(coordinate->second);
    if (!where.empty())
        name += " (" + where + ")";
    if (!rank.host.empty())
        name += ", " + rank.host;
    if (rank.uncertaintyNs > 0) {
        char text[64];
        std::snprintf(text, sizeof text, ", clock within %.3f ms", static_cast<double>(rank.uncertaintyNs) * 1e-6);
        name += text;
    }
    return cut(name, kRankBudget.textBytes);
}

void AttachedRun::describe(std::int64_t nowNs)
{
    RunDescription run = describeHere();
    run.processId = 0; // this one only listens
    run.name = m_options.name.empty() ? "attached job " + m_job : m_options.name;
    if (m_options.scenarioRanks == m_worldSize)
        run.scenarioJson = m_options.scenarioJson;
    run.device = m_device;
    run.worldSize = m_worldSize;
    run.slices = m_options.slices;
    for (int rank = 0; rank < m_worldSize; ++rank)
        run.rankNames.push_back(rankName(rank));
    run.groupSizes["world"] = m_worldSize;
    std::set<std::string> uneven;
    for (const Group& group : m_groups) {
        const auto size = static_cast<int>(group.ranks.size());
        if (group.kind != "pair" && run.groupSizes.size() < kRunBudget.groups &&
            run.groupSizes.try_emplace(group.name, size).first->second != size)
            uneven.insert(group.name);
    }
    for (const std::string& name : uneven)
        run.groupSizes.erase(name);
    run.startedUnixNs -= nowNs - m_begunNs;
    run.startedNs = m_begunNs;
    m_collector.describe(std::move(run));
}

/// Who waits in which collective for whom.
std::string AttachedRun::waitsText(std::int64_t nowNs) const
{
    struct Where {
        std::string name;
        std::vector<int> ranks;
        std::int64_t sinceNs = 0;
    };
    std::map<std::pair<std::uint32_t, std::uint64_t>, Where> waits;
    for (const auto& [number, rank] : m_ranks)
        for (const Wait& wait : rank->waits) {
            Where& where = waits[{wait.group, wait.number}];
            where.name = wait.name;
            where.ranks.push_back(number);
            where.sinceNs = where.ranks.size() == 1 ? wait.sinceNs : std::min(where.sinceNs, wait.sinceNs);
        }
    std::string text;
    constexpr int kTold = 4;
    int told = 0;
    for (const auto& [key, where] : waits) {
        if (++told > kTold)
            break;
        const Group& group = m_groups[key.first];
        std::vector<int> absent;
        for (const std::int32_t rank : group.ranks)
            if (std::find(where.ranks.begin(), where.ranks.end(), rank) == where.ranks.end())
                absent.push_back(rank);
        text += (text.empty() ? "" : "; ") + ranksText(where.ranks) + " in " + where.name + " " + std::to_string(key.second) +
                " of " + group.name + " for " + secondsText(std::max<std::int64_t>(0, nowNs - where.sinceNs)) +
                (absent.empty() ? ", all members being there"
                                : ": " + ranksText(absent) + (absent.size() == 1 ? " has not come" : " have not come"));
    }
    if (text.empty())
        return text;
    for (const auto& [number, rank] : m_ranks)
        if (!rank->waits.empty() && !rank->file.empty())
            return "waiting: " + text + ". Flight record: " + rank->host + ":" + rank->file;
    return "waiting: " + text;
}

std::string AttachedRun::text(std::int64_t nowNs) const
{
    std::map<Presence, std::vector<int>> by;
    std::string said;
    for (const auto& [number, rank] : m_ranks) {
        by[rank->presence].push_back(number);
        if (said.empty() && rank->presence == Presence::failed && !rank->message.empty())
            said = "rank " + std::to_string(number) + " said: " + rank->message;
    }
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    if (m_ranks.size() < static_cast<std::size_t>(m_worldSize))
        add(std::to_string(m_ranks.size()) + " of " + std::to_string(m_worldSize) + " ranks have attached");
    if (by.contains(Presence::lost)) {
        const std::vector<int>& lost = by[Presence::lost];
        const int first = *std::min_element(lost.begin(), lost.end(),
                                            [&](int a, int b) { return m_ranks.at(a)->heardNs < m_ranks.at(b)->heardNs; });
        add(ranksText(lost) + " ended without a goodbye" + (lost.size() > 1 ? ", rank " + std::to_string(first) + " first" : ""));
    }
    if (by.contains(Presence::failed))
        add(ranksText(by[Presence::failed]) + " failed");
    for (const Presence quiet : {Presence::unheard, Presence::silent})
        if (by.contains(quiet))
            add(ranksText(by[quiet]) + " said nothing for " + secondsText(nowNs - m_ranks.at(by[quiet].front())->heardNs));
    if (by.contains(Presence::left) && by.size() > 1)
        add(ranksText(by[Presence::left]) + " left");
    if (const std::string waits = waitsText(nowNs); !waits.empty())
        add(waits);
    if (!said.empty())
        add(said);
    if (m_options.scenarioRanks != 0 && m_options.scenarioRanks != m_worldSize)
        add("the scenario has " + std::to_string(m_options.scenarioRanks) + " ranks and the job " + std::to_string(m_worldSize) +
            ": no prediction");
    return cut(text, kRunBudget.messageTextBytes);
}

void AttachedRun::tellStatus(std::int64_t nowNs)
{
    std::string now = text(nowNs);
    if (now == m_toldStatus && m_collector.state().status == RunStatus::running)
        return;
    m_toldStatus = std::move(now);
    m_collector.setStatus(RunStatus::running, m_toldStatus);
}

} // namespace live
