#include "live/stream/attached_run.h"

#include "live/stream/pack.h"
#include "sim/error.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <unistd.h>
#include <utility>

namespace live {
namespace {

constexpr const RankBudget& kMostOfRank = kRankBudget;
constexpr unsigned kGroupShift = 32, kNumberBits = 24; ///< of a rank's correlations; of ours

/// Who rebooted together shares the steady clock.
std::string bootId()
{
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

[[noreturn]] void refuseRank(const std::string& what)
{
    throw sim::Error("it sent " + what);
}

std::int64_t wholeIn(const Json& json, const char* key, std::int64_t least, std::int64_t most)
{
    const auto place = json.find(key);
    if (place == json.end() || !place->is_number_integer() ||
        (place->is_number_unsigned() && place->get<std::uint64_t>() > static_cast<std::uint64_t>(most)))
        refuseRank(std::string(key) + (place == json.end() ? ": nothing" : " = " + cut(place->dump(), 64)) + ", where " +
                   std::to_string(least) + " to " + std::to_string(most) + " can be");
    const auto value = place->get<std::int64_t>();
    if (value < least || value > most)
        refuseRank(std::string(key) + " = " + std::to_string(value) + ", where " + std::to_string(least) + " to " +
                   std::to_string(most) + " can be");
    return value;
}

const Json* listIn(const Json& json, const char* key)
{
    const auto place = json.find(key);
    return place != json.end() && place->is_array() ? &*place : nullptr;
}

std::optional<double> finiteAt(const Json& list, std::size_t index)
{
    if (index >= list.size() || !list[index].is_number())
        return std::nullopt;
    const double value = list[index].get<double>();
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
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
        if (frames.size() > kMostOfRank.frames)
            refuseRank(std::to_string(frames.size()) + " parts in one message, where at most " +
                       std::to_string(kMostOfRank.frames) + " are taken");
        if (const auto json = frames.empty() ? std::nullopt : readHeader(frames[0], kMostOfRank.header, "a process", &version))
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
        rank->message = textIn(json, "message", kMostOfRank.messageBytes / 8);
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
    const std::string job = textIn(json, "job", kMostOfRank.textBytes), host = textIn(json, "host", kMostOfRank.textBytes);
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
    const auto worldSize = static_cast<int>(wholeIn(json, "world_size", 1, kMostOfRank.ranks));
    const auto number = static_cast<int>(wholeIn(json, "rank", 0, worldSize - 1));
    const std::string job = textIn(json, "job", kMostOfRank.textBytes);
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
        m_device = textIn(json, "device", kMostOfRank.textBytes);
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
    rank.host = textIn(json, "host", kMostOfRank.textBytes);
    rank.processId = wholeIn(json, "process_id", 0, INT_MAX);
    const bool sharesClock = !m_boot.empty() && textIn(json, "boot", kMostOfRank.textBytes) == m_boot;
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

/// What was held goes on as it is.
void AttachedRun::releaseAll(Rank& rank)
{
    for (const Held& held : rank.held) {
        rank.recorder->spans.push(held.span);
        if (const auto meeting = m_meetings.find(held.meeting);
            meeting != m_meetings.end() && ++meeting->second.released >= meeting->second.came)
            m_meetings.erase(meeting);
    }
    rank.held.clear();
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
        m_newestStep = std::min(m_newestStep, m_middleStep + kMostOfRank.stepJump);
    m_stepBase = m_newestStep + 1;
    m_middleStep = -1;
    for (auto& [number, rank] : m_ranks)
        rank->step = rank->told = -1;
}

/// Whether a step is near what the ranks are at: near their median, so that no rank's nonsense keeps the others' spans out.
bool AttachedRun::isNear(Rank& rank, int step, std::int64_t nowNs)
{
    // Also where it is not taken, as all ranks may have come far while nobody listened; not by what is told once.
    const bool goesOn = rank.told < 0 || std::abs(step - rank.told) <= kMostOfRank.stepJump;
    rank.told = step;
    if (goesOn)
        rank.step = step;
    const auto isNearMiddle = [&] { return m_middleStep >= 0 && std::abs(step - m_middleStep) <= kMostOfRank.stepJump; };
    if (!isNearMiddle()) {
        constexpr std::size_t kFew = 256; // else once a message
        if (m_ranks.size() > kFew && m_middleNs == nowNs)
            return false;
        std::vector<int> steps;
        for (const auto& [number, other] : m_ranks) {
            if (other->step >= 0 && other->isHere())
                steps.push_back(other->step);
        }
        if (steps.empty())
            return false;
        const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
        std::nth_element(steps.begin(), middle, steps.end());
        m_middleStep = *middle;
        m_middleNs = nowNs;
        return isNearMiddle();
    }
    return true;
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
    Group group{.name = textIn(json, "name", kMostOfRank.textBytes), .kind = textIn(json, "kind", 16), .ranks = {}};
    const std::string of = textIn(json, "of", kMostOfRank.textBytes);
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
    if (m_groups.size() == kMostOfRank.groups || m_members + group.ranks.size() > kMostOfRank.membersOfGroups)
        refuseRank("group " + group.name + " beside " + std::to_string(m_groups.size()) + " others with " +
                   std::to_string(m_members) + " members, where " + std::to_string(kMostOfRank.groups) + " with " +
                   std::to_string(kMostOfRank.membersOfGroups) + " are kept");
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
    if (from + groups->size() > kMostOfRank.groupsOfRank)
        refuseRank(std::to_string(from + groups->size()) + " groups, where at most " + std::to_string(kMostOfRank.groupsOfRank) +
                   " of a rank are kept");
    const std::size_t before = m_groups.size();
    for (const Json& group : *groups)
        rank.groups.push_back(groupNumber(group));
    if (m_groups.size() == before)
        return;
    m_groupsChangedNs = nowNs;
    recount();
}

void AttachedRun::takeKinds(Rank& rank, const Json& json)
{
    const Json* kinds = listIn(json, "kinds");
    if (!kinds)
        return;
    const std::uint64_t from = numberIn(json, "kinds_from");
    if (from != rank.kinds.size())
        refuseRank("kinds of spans from number " + std::to_string(from) + " on after " + std::to_string(rank.kinds.size()));
    if (from + kinds->size() > kMostOfRank.kindsOfRank)
        refuseRank(std::to_string(from + kinds->size()) + " kinds of spans, where at most " +
                   std::to_string(kMostOfRank.kindsOfRank) + " of a rank are kept");
    for (const Json& kind : *kinds) {
        const std::size_t known = m_kinds.size();
        rank.kinds.push_back(known < kMostOfRank.kinds ? m_kinds.id(kindFrom(kind)) : m_otherKind);
    }
}

void AttachedRun::takeData(Rank& rank, const Json& json, std::span<const std::string_view> frames, std::int64_t nowNs)
{
    takeKinds(rank, json);
    const std::uint64_t dropped = std::min<std::uint64_t>(numberIn(json, "dropped"), std::uint64_t{1} << 60U);
    if (dropped > rank.dropped)
        rank.recorder->spans.lost(dropped - rank.dropped);
    rank.dropped = std::max(rank.dropped, dropped);
    std::size_t frame = 0;
    const auto nextFrame = [&] {
        if (frame >= frames.size())
            refuseRank("a message with " + std::to_string(frames.size()) + " parts that should have more");
        return frames[frame++];
    };
    const PackLimits limits{m_worldSize, rank.kinds.size()};
    const auto says = [&](const char* key) {
        const auto place = json.find(key);
        return place != json.end() && place->is_boolean() && place->get<bool>();
    };
    if (says("spans")) {
        std::vector<RankSpan> spans;
        unpackSpans(nextFrame(), limits, spans);
        for (const RankSpan& span : spans) {
            if (span.rank != rank.recorder->rank)
                refuseRank("a span of rank " + std::to_string(span.rank));
            takeSpan(rank, span.span, nowNs);
        }
    }
    if (says("memory")) {
        std::vector<RankMemory> values;
        unpackMemory(nextFrame(), limits, values);
        for (const RankMemory& value : values) {
            const std::int64_t time = value.value.timeNs + rank.offsetNs;
            if (value.rank != rank.recorder->rank || value.value.value < 0 || value.value.value > kRunBudget.heldBytes)
                refuseRank("memory of " + std::to_string(value.value.value) + " bytes of rank " + std::to_string(value.rank));
            if (value.value.timeNs >= 0 && time >= m_begunNs - kMostOfRank.beforeNs && time <= nowNs + kMostOfRank.aheadNs)
                rank.recorder->memory.push({time, value.value.value});
        }
    }
    takeSteps(rank, json, nowNs);
    release(rank, nowNs);
}

/// What no viewer would take is not shown to any: counted as dropped.
bool AttachedRun::isPossible(Rank& rank, const SpanRecord& span, std::int64_t nowNs)
{
    const std::int64_t earliest = std::max<std::int64_t>(0, m_begunNs - kMostOfRank.beforeNs);
    if (span.startNs < earliest || span.endNs > nowNs + kMostOfRank.aheadNs || span.cpuNs < 0 ||
        span.cpuNs > span.endNs - span.startNs + 1'000'000 || span.bytes < 0 || span.bytes > kMostOfRank.spanBytes ||
        span.microbatch > kRunBudget.microbatch)
        return false;
    if (span.step < m_stepBase || span.step > kRunBudget.step || !isNear(rank, span.step, nowNs))
        return false;
    if (m_extents.size() == kRunBudget.stepsWithSpans && !m_extents.contains(span.step)) {
        if (span.step < m_extents.begin()->first)
            return false;
        m_extents.erase(m_extents.begin());
    }
    const auto [place, isNew] = m_extents.try_emplace(span.step, StepExtent{0, span.startNs, span.endNs});
    StepExtent step = place->second;
    ++step.spans;
    step.firstNs = std::min(step.firstNs, span.startNs);
    step.lastNs = std::max(step.lastNs, span.endNs);
    if (static_cast<std::size_t>(step.spans) > kRunBudget.spansOfStep ||
        step.lastNs - step.firstNs + 1'000'000 > kRunBudget.spanNsOfStep / step.spans)
        return false;
    place->second = step;
    m_newestStep = std::max(m_newestStep, span.step);
    return true;
}

/// Gives the span its correlation in the run, and notes that it came; whether it has others to wait for.
bool AttachedRun::meet(const Rank& rank, SpanRecord& span, Held& held)
{
    const std::uint64_t theirs = std::exchange(span.correlation, 0) >> kGroupShift;
    if (theirs == 0)
        return false;
    const std::uint64_t number = held.span.correlation & 0xFFFFFFFFU;
    if (theirs > rank.groups.size())
        refuseRank("a span of group " + std::to_string(theirs - 1) + ", having named " + std::to_string(rank.groups.size()));
    const std::uint32_t group = rank.groups[theirs - 1];
    span.correlation = (std::uint64_t{group + 1} << kNumberBits) | (number & ((1U << kNumberBits) - 1));
    if (m_groups[group].ranks.size() < 2 || commOf(span.track) < 0)
        return false;
    auto place = m_meetings.find(span.correlation);
    if (place == m_meetings.end()) {
        if (m_meetings.size() >= kMostOfRank.openMeetings)
            return false;
        place = m_meetings.emplace(span.correlation, Meeting{.group = group}).first;
    }
    ++place->second.came;
    place->second.lastStartNs = std::max(place->second.lastStartNs, span.startNs);
    held.meeting = span.correlation;
    return true;
}

void AttachedRun::takeSpan(Rank& rank, SpanRecord span, std::int64_t nowNs)
{
    span.kind = rank.kinds[span.kind];
    // 36 years: neither sum can overflow.
    const bool isTime =
        span.startNs <= kRunBudget.amount && span.endNs <= kRunBudget.amount && span.step >= 0 && span.step <= kRunBudget.step;
    if (isTime) {
        span.startNs += rank.offsetNs;
        span.endNs += rank.offsetNs;
        span.readyNs = span.startNs;
        span.step += m_stepBase;
    }
    if (!isTime || !isPossible(rank, span, nowNs)) {
        rank.recorder->spans.lost(1);
        return;
    }
    Held held{.span = span, .arrivedNs = nowNs};
    meet(rank, span, held);
    held.span = span;
    rank.held.push_back(held);
}

/// A rank's spans go on in their order, those of a collective once the last member has come: then it is known when it could
/// begin.
void AttachedRun::release(Rank& rank, std::int64_t nowNs)
{
    const std::int64_t patience = std::chrono::nanoseconds(kMostOfRank.meetingPatience).count();
    while (!rank.held.empty()) {
        Held& held = rank.held.front();
        const auto meeting = held.meeting == 0 ? m_meetings.end() : m_meetings.find(held.meeting);
        if (meeting != m_meetings.end()) {
            Meeting& here = meeting->second;
            const Group& group = m_groups[here.group];
            const bool all = here.came >= (m_collector.isDescribed() ? group.present : static_cast<int>(group.ranks.size()));
            if (!all && nowNs - held.arrivedNs < patience && rank.held.size() <= kMostOfRank.heldOfRank)
                return;
            if (here.came > 1)
                held.span.readyNs = std::clamp(here.lastStartNs, held.span.startNs, held.span.endNs);
            if (++here.released >= here.came)
                m_meetings.erase(meeting);
        }
        rank.recorder->spans.push(held.span);
        rank.held.pop_front();
    }
}

void AttachedRun::takeSteps(Rank& rank, const Json& json, std::int64_t nowNs)
{
    const Json* steps = listIn(json, "steps");
    if (!steps)
        return;
    if (steps->size() > kMostOfRank.stepsOfMessage)
        refuseRank(std::to_string(steps->size()) + " steps in one message");
    for (const Json& told : *steps) { // [step, start, end, loss, gradient norm, tokens]
        if (!told.is_array() || told.size() < 3 || !told[0].is_number_integer() || !told[1].is_number_unsigned() ||
            !told[2].is_number_unsigned())
            refuseRank("a step that is none");
        const auto number = told[0].get<std::int64_t>();
        const auto amount = static_cast<std::uint64_t>(kRunBudget.amount);
        if (number < 0 || number > kRunBudget.step || told[1].get<std::uint64_t>() > amount ||
            told[2].get<std::uint64_t>() > amount)
            continue;
        const std::int64_t step = number + m_stepBase;
        const std::int64_t start = told[1].get<std::int64_t>() + rank.offsetNs, end = told[2].get<std::int64_t>() + rank.offsetNs;
        if (step > kRunBudget.step || start < 0 || end < start || !isNear(rank, static_cast<int>(step), nowNs))
            continue;
        m_newestStep = std::max(m_newestStep, static_cast<int>(step));
        const auto [place, isNew] = m_openSteps.try_emplace(static_cast<int>(step));
        OpenStep& open = place->second;
        open.startNs = isNew ? start : std::min(open.startNs, start);
        open.endNs = std::max(open.endNs, end);
        ++open.told;
        if (const auto loss = finiteAt(told, 3)) {
            open.loss += *loss;
            ++open.losses;
        }
        if (const auto norm = finiteAt(told, 4)) {
            open.norm += *norm;
            ++open.norms;
        }
        open.tokens += std::max(0.0, finiteAt(told, 5).value_or(0));
        if (open.told >= present()) {
            stepDone(place->first, open);
            m_openSteps.erase(place);
        }
        while (m_openSteps.size() > kMostOfRank.openSteps) {
            stepDone(m_openSteps.begin()->first, m_openSteps.begin()->second);
            m_openSteps.erase(m_openSteps.begin());
        }
    }
}

void AttachedRun::stepDone(int step, const OpenStep& open)
{
    const double seconds = static_cast<double>(open.endNs - open.startNs) * 1e-9;
    m_collector.stepDone({.step = step,
                          .loss = open.losses > 0 ? open.loss / open.losses : kUnknown,
                          .gradientNorm = open.norms > 0 ? open.norm / open.norms : kUnknown,
                          .tokensPerSecond = open.tokens > 0 && seconds > 0 ? open.tokens / seconds : kUnknown,
                          .startNs = open.startNs,
                          .endNs = open.endNs});
}

void AttachedRun::takeWaits(Rank& rank, const Json& json)
{
    constexpr std::size_t kMostWaits = 64;
    rank.waits.clear();
    rank.file = textIn(json, "file", kMostOfRank.textBytes * 4);
    if (const Json* waits = listIn(json, "waits"))
        for (const Json& wait : *waits) {
            if (!wait.is_object() || rank.waits.size() == kMostWaits)
                continue;
            const std::uint64_t group = numberIn(wait, "group", rank.groups.size());
            const std::int64_t since = wholeIn(wait, "since_ns", 0, kRunBudget.amount);
            if (group < rank.groups.size())
                rank.waits.push_back({textIn(wait, "name", kMostOfRank.textBytes), rank.groups[group], numberIn(wait, "number"),
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
    const std::int64_t silence = std::chrono::nanoseconds(kMostOfRank.silence).count();
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
