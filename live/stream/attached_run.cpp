#include "live/stream/attached_run.h"

#include "live/stream/attached_words.h"
#include "sim/error.h"

#include <algorithm>
#include <climits>
#include <fstream>
#include <set>
#include <utility>

namespace live {
namespace {

/// Who rebooted together shares the steady clock.
std::string bootId()
{
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

} // namespace

AttachedRun::AttachedRun(Collector& collector, SpanKinds& kinds, AttachedRunOptions options)
    : m_collector(collector), m_kinds(kinds), m_options(std::move(options)), m_begunNs(nowNs()), m_boot(bootId()),
      m_otherKind(kinds.id({.name = "other kinds"}))
{
}

AttachedRun::~AttachedRun() = default;

AttachedRun::Rank* AttachedRun::rankOf(const std::string& peer)
{
    const auto place = m_rankOfPeer.find(peer);
    return place == m_rankOfPeer.end() ? nullptr : m_ranks.at(place->second).get();
}

AttachedRun::Answer AttachedRun::receive(const std::string& peer, std::span<const std::string_view> frames, std::int64_t nowNs)
{
    std::string why = "what is no message";
    int version = 0;
    try {
        if (frames.size() > kRankBudget.frames)
            refuseRank(std::to_string(frames.size()) + " parts in one message, where at most " +
                       std::to_string(kRankBudget.frames) + " are taken");
        if (const auto json = frames.empty() ? std::nullopt : readHeader(frames[0], kRankBudget.header, "a process", &version))
            return understand(peer, *json, frames.subspan(1), nowNs);
        if (version != 0 && version != kProtocolVersion)
            why = "version " + std::to_string(version) + " of the protocol, where this rankscope-live speaks version " +
                  std::to_string(kProtocolVersion) + ": use the Python package of the same Rankscope";
        why = "it sent " + why;
    } catch (const sim::Error& error) {
        why = error.what();
    }
    ++m_ignored;
    const Rank* const rank = rankOf(peer);
    Answer answer{.message = header("refused"), .cut = true, .why = rank ? rankName(rank->recorder->rank) + ": " + why : why};
    (*answer.message)["message"] = why;
    return answer;
}

AttachedRun::Answer AttachedRun::understand(const std::string& peer, const Json& json, std::span<const std::string_view> frames,
                                            std::int64_t nowNs)
{
    const std::string type = typeOf(json);
    if (type == "ping") {
        Json pong = header("pong");
        pong["t"] = wholeIn(json, "t", 0, kRunBudget.amount);
        pong["clock_ns"] = live::nowNs();
        pong["boot"] = m_boot;
        return {.message = std::move(pong)};
    }
    if (type == "hello")
        return takeHello(peer, json, nowNs);
    Rank* const rank = rankOf(peer);
    if (!rank) {
        if (type == "bye")
            return {};
        return {.message = header("who")}; // of before the connection broke, or this program was started anew
    }
    rank->heardNs = nowNs;
    if (rank->presence == Presence::silent || rank->presence == Presence::unheard || rank->presence == Presence::lost) {
        rank->presence = Presence::present;
        recount();
    }
    if (type == "data") {
        takeData(*rank, json, frames, nowNs);
    } else if (type == "groups") {
        takeGroups(*rank, json, nowNs);
    } else if (type == "waits") {
        takeWaits(*rank, json);
    } else if (type == "bye") {
        const auto failed = json.find("failed");
        rank->presence = failed != json.end() && failed->is_boolean() && failed->get<bool>() ? Presence::failed : Presence::left;
        rank->message = textIn(json, "message", kRankBudget.messageBytes / 8);
        rank->waits.clear();
        m_rankOfPeer.erase(peer);
        recount();
    } else if (type != "alive") {
        ++m_ignored;
    }
    return {};
}

std::optional<AttachedRun::Refusal> AttachedRun::whyNot(const Json& json, const std::string& peer, std::int64_t nowNs) const
{
    const std::string job = textIn(json, "job", kRankBudget.textBytes), host = textIn(json, "host", kRankBudget.textBytes);
    const auto worldSize = static_cast<int>(numberIn(json, "world_size")), rank = static_cast<int>(numberIn(json, "rank"));
    const auto processId = static_cast<std::int64_t>(numberIn(json, "process_id"));
    const int here = present();
    if (job != m_job && here > 0)
        return Refusal{.why = "another job is attached here (" + std::to_string(here) + " ranks of " + m_job +
                              "): start rankscope-live collect for this one at another endpoint",
                       .mayPass = true};
    if (job == m_job && m_worldSize != 0 && worldSize != m_worldSize)
        return Refusal{.why = "the job has " + std::to_string(m_worldSize) + " ranks as others said, this rank says " +
                              std::to_string(worldSize)};
    const auto place = m_ranks.find(rank);
    constexpr std::int64_t kAliveNs = 2'000'000'000;
    const bool isSame = place != m_ranks.end() && place->second->processId == processId && place->second->host == host;
    if (place != m_ranks.end() && !isSame && place->second->peer != peer && place->second->presence == Presence::present &&
        nowNs - place->second->heardNs < kAliveNs)
        return Refusal{.why = "rank " + std::to_string(rank) + " of this job is attached already, by process " +
                              std::to_string(place->second->processId) + " on " + place->second->host,
                       .mayPass = true};
    if (job != m_job && m_worldSize != 0 && worldSize != m_worldSize) // viewers were told another one
        return Refusal{.why = "this run was begun with " + std::to_string(m_worldSize) + " ranks, the new job has " +
                              std::to_string(worldSize) + ": start rankscope-live collect anew for it"};
    return std::nullopt;
}

AttachedRun::Answer AttachedRun::refused(Refusal refusal)
{
    Answer answer{.message = header("refused")};
    (*answer.message)["message"] = refusal.why;
    if (refusal.mayPass)
        (*answer.message)["again"] = true;
    answer.why = std::move(refusal.why);
    return answer;
}

AttachedRun::Answer AttachedRun::takeHello(const std::string& peer, const Json& json, std::int64_t nowNs)
{
    const auto worldSize = static_cast<int>(wholeIn(json, "world_size", 1, kRankBudget.ranks));
    const auto number = static_cast<int>(wholeIn(json, "rank", 0, worldSize - 1));
    const std::string job = textIn(json, "job", kRankBudget.textBytes);
    const std::int64_t offset = wholeIn(json, "offset_ns", -kRunBudget.amount, kRunBudget.amount);
    const std::int64_t uncertainty = wholeIn(json, "uncertainty_ns", 0, kRunBudget.amount);
    if (std::optional<Refusal> refusal = whyNot(json, peer, nowNs))
        return refused(std::move(*refusal));
    if (job != m_job || m_worldSize == 0) {
        if (m_worldSize == 0)
            m_firstHelloNs = m_groupsChangedNs = nowNs;
        else
            forgetJob();      // as one that torchrun has started again: its steps follow
        m_rankOfPeer.clear(); // who is of the old job and speaks yet is asked who it is
        m_job = job;
        m_worldSize = worldSize;
        m_device = textIn(json, "device", kRankBudget.textBytes);
    }
    const auto [place, isNew] = m_ranks.try_emplace(number);
    if (isNew) {
        place->second = std::make_unique<Rank>(number);
        m_collector.add(place->second->recorder);
    }
    Rank& rank = *place->second;
    releaseAll(rank); // of a session before this one
    m_rankOfPeer.erase(rank.peer);
    rank.peer = peer;
    m_rankOfPeer[peer] = number;
    rank.host = textIn(json, "host", kRankBudget.textBytes);
    rank.processId = wholeIn(json, "process_id", 0, INT_MAX);
    const bool sharesClock = !m_boot.empty() && textIn(json, "boot", kRankBudget.textBytes) == m_boot;
    rank.offsetNs = sharesClock ? 0 : offset;
    rank.uncertaintyNs = sharesClock ? 0 : uncertainty;
    rank.heardNs = nowNs;
    rank.presence = Presence::present;
    rank.step = rank.told = -1;
    rank.kinds.clear();
    rank.groups.clear();
    rank.waits.clear();
    rank.message.clear();
    rank.dropped = 0;
    recount();
    Json welcome = header("welcome");
    if (m_options.profile[1] >= m_options.profile[0])
        welcome["profile"] = m_options.profile;
    return {.message = std::move(welcome)};
}

void AttachedRun::forgetJob()
{
    for (auto& [number, rank] : m_ranks)
        releaseAll(*rank);
    m_meetings.clear();
    for (const auto& [step, open] : m_openSteps)
        stepDone(step, open);
    m_openSteps.clear();
    if (m_middleStep >= 0) // or one rank's nonsense would be all others' beginning
        m_newestStep = std::min(m_newestStep, m_middleStep + kRankBudget.stepJump);
    m_stepBase = m_newestStep + 1;
    m_middleStep = -1;
    for (auto& [number, rank] : m_ranks)
        rank->step = rank->told = -1;
}

void AttachedRun::recount()
{
    for (Group& group : m_groups)
        group.present = static_cast<int>(std::count_if(group.ranks.begin(), group.ranks.end(), [&](std::int32_t rank) {
            const auto place = m_ranks.find(rank);
            return place != m_ranks.end() && place->second->isHere();
        }));
}

std::uint32_t AttachedRun::groupNumber(const Json& json)
{
    if (!json.is_object())
        refuseRank("a group that is none");
    Group group{.name = textIn(json, "name", kRankBudget.textBytes), .kind = textIn(json, "kind", 16), .ranks = {}};
    const std::string of = textIn(json, "of", kRankBudget.textBytes);
    const Json* ranks = listIn(json, "ranks");
    if (!ranks || ranks->empty() || ranks->size() > static_cast<std::size_t>(m_worldSize))
        refuseRank("group " + group.name + " of " + std::to_string(ranks ? ranks->size() : 0) + " ranks, where 1 to " +
                   std::to_string(m_worldSize) + " can be");
    std::string key = group.kind + '\n' + group.name + '\n' + of + '\n';
    std::set<std::int32_t> different;
    for (const Json& rank : *ranks) {
        if (!rank.is_number_integer() || rank < 0 || rank >= m_worldSize)
            refuseRank("group " + group.name + " with rank " + cut(rank.dump(), 64) + " of " + std::to_string(m_worldSize));
        group.ranks.push_back(rank.get<std::int32_t>());
        different.insert(group.ranks.back());
        key += std::to_string(group.ranks.back()) + ' ';
    }
    if (different.size() != group.ranks.size() || (group.kind == "pair" && group.ranks.size() != 2))
        refuseRank("group " + group.name + " with a rank twice, or a pair that is none");
    if (const auto known = m_groupNumbers.find(key); known != m_groupNumbers.end())
        return known->second;
    if (m_groups.size() == kRankBudget.groups || m_members + group.ranks.size() > kRankBudget.membersOfGroups)
        refuseRank("group " + group.name + " beside " + std::to_string(m_groups.size()) + " others with " +
                   std::to_string(m_members) + " members, where " + std::to_string(kRankBudget.groups) + " with " +
                   std::to_string(kRankBudget.membersOfGroups) + " are kept");
    m_members += group.ranks.size();
    const auto number = static_cast<std::uint32_t>(m_groups.size());
    m_groups.push_back(std::move(group));
    m_groupNumbers.emplace(std::move(key), number);
    return number;
}

void AttachedRun::takeGroups(Rank& rank, const Json& json, std::int64_t nowNs)
{
    const Json* groups = listIn(json, "groups");
    const std::uint64_t from = numberIn(json, "from");
    if (!groups || from != rank.groups.size())
        refuseRank("groups from number " + std::to_string(from) + " on after " + std::to_string(rank.groups.size()));
    if (from + groups->size() > kRankBudget.groupsOfRank)
        refuseRank(std::to_string(from + groups->size()) + " groups, where at most " + std::to_string(kRankBudget.groupsOfRank) +
                   " of a rank are kept");
    const std::size_t before = m_groups.size();
    for (const Json& group : *groups)
        rank.groups.push_back(groupNumber(group));
    if (m_groups.size() == before)
        return;
    m_groupsChangedNs = nowNs;
    recount();
}

void AttachedRun::takeWaits(Rank& rank, const Json& json)
{
    constexpr std::size_t kMostWaits = 64;
    rank.waits.clear();
    rank.file = textIn(json, "file", kRankBudget.textBytes * 4);
    if (const Json* waits = listIn(json, "waits"))
        for (const Json& wait : *waits) {
            if (!wait.is_object() || rank.waits.size() == kMostWaits)
                continue;
            const std::uint64_t group = numberIn(wait, "group", rank.groups.size());
            const std::int64_t since = wholeIn(wait, "since_ns", 0, kRunBudget.amount);
            if (group < rank.groups.size())
                rank.waits.push_back({textIn(wait, "name", kRankBudget.textBytes), rank.groups[group], numberIn(wait, "number"),
                                      since + rank.offsetNs});
        }
}

void AttachedRun::connectionEnded(const std::string& peer, std::int64_t nowNs)
{
    Rank* const rank = rankOf(peer);
    if (!rank)
        return;
    rank->presence = Presence::lost;
    rank->heardNs = nowNs;
    rank->waits.clear();
    recount();
}

void AttachedRun::tick(std::int64_t nowNs)
{
    const std::int64_t silence = std::chrono::nanoseconds(kRankBudget.silence).count();
    for (auto& [number, rank] : m_ranks) {
        if (rank->presence == Presence::present && nowNs - rank->heardNs > silence)
            rank->presence = Presence::silent;
        if (rank->presence == Presence::silent && nowNs - rank->heardNs > m_options.patienceNs) {
            rank->presence = Presence::unheard;
            rank->waits.clear();
            recount();
        }
        release(*rank, nowNs);
    }
    const int here = present();
    for (auto step = m_openSteps.begin(); step != m_openSteps.end();) { // ranks may have gone since
        if (here == 0 || step->second.told < here) {
            ++step;
            continue;
        }
        stepDone(step->first, step->second);
        step = m_openSteps.erase(step);
    }
    if (m_worldSize > 0 && !m_collector.isDescribed()) {
        const bool all = here == m_worldSize || nowNs - m_firstHelloNs >= m_options.gatherNs;
        if ((all && nowNs - m_groupsChangedNs >= m_options.settleNs) || nowNs - m_firstHelloNs >= 2 * m_options.gatherNs ||
            isOver(nowNs))
            describe(nowNs);
    }
    if (m_collector.isDescribed())
        tellStatus(nowNs);
}

void AttachedRun::wasAway(std::int64_t nowNs)
{
    for (auto& [number, rank] : m_ranks)
        rank->heardNs = nowNs;
}

int AttachedRun::present() const
{
    return static_cast<int>(
        std::count_if(m_ranks.begin(), m_ranks.end(), [](const auto& entry) { return entry.second->isHere(); }));
}

bool AttachedRun::isOver(std::int64_t nowNs) const
{
    const bool allCame = m_ranks.size() == static_cast<std::size_t>(m_worldSize); // the others may be slow to begin
    return !m_ranks.empty() && std::all_of(m_ranks.begin(), m_ranks.end(), [&](const auto& entry) {
        const Rank& rank = *entry.second;
        const bool hasLeft = rank.presence == Presence::left || rank.presence == Presence::failed;
        return (hasLeft && allCame) || (rank.presence != Presence::present && nowNs - rank.heardNs > m_options.patienceNs);
    });
}

bool AttachedRun::isFailed() const
{
    return std::any_of(m_ranks.begin(), m_ranks.end(), [](const auto& entry) {
        return entry.second->presence != Presence::left && entry.second->presence != Presence::present;
    });
}

void AttachedRun::finish()
{
    forgetJob();
    if (m_worldSize > 0 && !m_collector.isDescribed())
        describe(nowNs());
    m_collector.collect();
}

} // namespace live
