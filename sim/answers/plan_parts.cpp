// Parts of one search as one answer.
#include "sim/analysis/likely_ratio.h"
#include "sim/answers/plan.h"
#include "sim/error.h"
#include "sim/memory_limit.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sim {

std::string partDigest(const Answer& part)
{
    Answer said = part;
    said.erase("digest");
    std::uint64_t hash = 14695981039346656037U;                    // FNV-1a, of 64 bits
    for (const char c : nlohmann::json::parse(said.dump()).dump()) // keys in their order: programs write them in any
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = text.size(); i-- > 0; hash >>= 4U)
        text[i] = kDigits[hash & 15U];
    return text;
}

namespace {

constexpr double kNothingOpen = std::numeric_limits<double>::infinity();

double paceOf(const Answer& layout)
{
    return layout.at(layout.contains("pace_s") ? "pace_s" : "step_time_s").get<double>();
}

/// Whether the model can tell layouts of any part from the first of all.
class Ties {
public:
    Ties(const std::vector<Answer>& parts, const Answer* first, bool byHeadroom) : m_first(first), m_byHeadroom(byHeadroom)
    {
        for (const Answer& part : parts)
            if (part.contains("sure")) // parts of earlier versions lack it
                for (const Answer& of : part.at("sure"))
                    m_sure.emplace(of.at("stack").dump(), Uncertainty{.stepLow = of.at("low").get<double>(),
                                                                      .stepHigh = of.at("high").get<double>(),
                                                                      .ratioShare = of.at("ratio_share").get<double>()});
    }

    /// As a search in one piece says it: what PlannedLayout::tieWithFirst is.
    Answer withTie(const Answer& part, Answer layout) const
    {
        if (&part == m_first || m_first == nullptr || part.contains("no_ties")) // false there
            return layout;
        const Answer& first = m_first->at("best").at(0);
        const auto ofFirst = sureOf(first), of = sureOf(layout);
        if (m_byHeadroom)
            layout["tie_with_first"] = false;
        else if (of == m_sure.end() || ofFirst == m_sure.end())
            layout["tie_with_first"] = nullptr;
        else
            layout["tie_with_first"] = !canTellApart(ofFirst->second, of->second, of == ofFirst, paceOf(layout) / paceOf(first));
        return layout;
    }

private:
    /// As JSON; it may follow from the stage of ZeRO, else no layout names one.
    static std::string softwareOf(const Answer& layout)
    {
        const Answer& settings = layout.at("settings");
        const auto stack = settings.find("/training/stack");
        return stack == settings.end() ? "null" : stack->dump();
    }

    /// Software that all layouts are held to stands in their settings, and parts know it as what the job has.
    std::map<std::string, Uncertainty>::const_iterator sureOf(const Answer& layout) const
    {
        const auto of = m_sure.find(softwareOf(layout));
        return of == m_sure.end() ? m_sure.find("null") : of;
    }

    const Answer* m_first;
    bool m_byHeadroom;
    std::map<std::string, Uncertainty> m_sure; ///< by the software, as JSON; null: what the job has
};

/// Layouts of all parts, by `list`.
std::vector<Answer> layoutsOf(const std::vector<Answer>& parts, const Ties& ties, const char* list)
{
    std::vector<Answer> all;
    for (const Answer& part : parts)
        for (const Answer& layout : part.at(list))
            all.push_back(ties.withTie(part, layout));
    return all;
}

/// The first of all, and those that follow it of what the parts say.
Answer bestOf(const std::vector<Answer>& parts, const Answer* first, const Ties& ties, int top, bool byHeadroom)
{
    if (first == nullptr || top < 1)
        return Answer::array();
    std::vector<Answer> all = layoutsOf(parts, ties, "best");
    const auto keyOf = [&](const Answer& layout) {
        const double pace = paceOf(layout), peak = layout.at("peak_memory_gib").get<double>();
        return byHeadroom ? std::pair(peak, pace) : std::pair(pace, peak);
    };
    std::erase(all, first->at("best").at(0));
    std::stable_sort(all.begin(), all.end(), [&](const Answer& a, const Answer& b) { return keyOf(a) < keyOf(b); });
    all.insert(all.begin(), first->at("best").at(0));
    all.resize(std::min(all.size(), static_cast<std::size_t>(top)));
    return all;
}

/// What no other is both faster and leaner than.
Answer frontierOf(const std::vector<Answer>& parts, const Ties& ties)
{
    std::vector<Answer> all = layoutsOf(parts, ties, "pareto");
    std::stable_sort(all.begin(), all.end(), [](const Answer& a, const Answer& b) { return paceOf(a) < paceOf(b); });
    Answer frontier = Answer::array();
    double most = -kNothingOpen;
    for (Answer& layout : all)
        if (const double headroom = layout.at("headroom_gib").get<double>(); headroom > most) {
            most = headroom;
            frontier.push_back(std::move(layout));
        }
    return frontier;
}

/// The grid of a part's first, which is first there and not of all.
Answer gridOfFirst(const Answer& part, const Answer& first, const Ties& ties, bool byHeadroom)
{
    constexpr std::size_t kSizesInOrder = 3; // tp and those after it
    Answer grid = Answer::object();
    std::size_t at = kSizesInOrder;
    for (const char* key : {"tp", "cp", "pp", "dp", "ep", "etp"})
        grid[key] = static_cast<int>(part.at("order").at(at++).get<double>());
    const Answer& best = part.at("best").at(0);
    const auto keyOf = [&](const Answer& layout) {
        return byHeadroom ? layout.at("peak_memory_gib").get<double>() * kBytesPerGib : paceOf(layout);
    };
    const auto told = [&](double key) { return numberText(key, byHeadroom ? Unit::bytes : Unit::seconds); };
    grid["reason"] = planReasonName(PlanReason::slower);
    grid["text"] = std::string(part.at("proved").get<bool>() ? "the best of it" : "the best of it that was simulated") +
                   (byHeadroom ? " holds " : " takes ") + told(keyOf(best)) + ", " +
                   told(std::max(0.0, keyOf(best) - keyOf(first.at("best").at(0)))) + " more";
    grid["best"] = ties.withTie(part, best);
    return grid;
}

/// Every grid but the first one's, in the order of grids; what was said beside the first of a part says so.
Answer rejectedOfAll(const std::vector<Answer>& parts, const Answer* first, const Ties& ties, bool byHeadroom)
{
    std::vector<Answer> all;
    for (const Answer& part : parts) {
        if (&part != first && !part.at("best").empty())
            all.push_back(gridOfFirst(part, *first, ties, byHeadroom));
        for (const Answer& grid : part.at("rejected")) {
            all.push_back(grid);
            if (!grid.at("best").is_null())
                all.back()["best"] = ties.withTie(part, grid.at("best"));
            if (const Answer& reason = grid.at("reason");
                &part != first && !part.at("best").empty() && reason != "rule" && reason != "memory")
                all.back()["text"] =
                    grid.at("text").get<std::string>() + " (beside the first" +
                    partText(part.at("part").at(0).get<std::int64_t>(), part.at("part").at(1).get<std::int64_t>()) + ")";
        }
    }
    const auto sizesOf = [](const Answer& grid) {
        std::vector<int> numbers;
        for (const char* key : {"tp", "cp", "pp", "dp", "ep", "etp"})
            numbers.push_back(grid.at(key).get<int>());
        return numbers;
    };
    std::sort(all.begin(), all.end(), [&](const Answer& a, const Answer& b) { return sizesOf(a) < sizesOf(b); });
    return all;
}

/// Where every part that has legal layouts refuses them by what each holds at least: the least of all; else nothing.
std::optional<Answer> leastOfAll(const std::vector<Answer>& parts)
{
    std::optional<LeastMemory> least;
    for (const Answer& part : parts) {
        if (!part.contains("least")) {
            if (part.at("covered").get<std::int64_t>() > 0)
                return std::nullopt;
            continue;
        }
        const Answer& of = part.at("least");
        if (const double gib = of.at("gib").get<double>(); !least || gib < least->gib)
            least = {.gib = gib, .hasGib = of.at("has_gib").get<double>(), .gpus = of.at("gpus").get<std::int64_t>()};
    }
    if (!least)
        return std::nullopt;
    return leastMemoryAnswer(*least, parts.front().at("gpus").get<int>());
}

} // namespace

Answer mergedPlans(const std::vector<Answer>& parts, int top, const std::vector<std::string>& files)
{
    if (parts.empty())
        throw Error("there is nothing to merge");
    if (!parts.front().is_object())
        throw Error("a file is not an answer of plan --part I/N --json");
    std::vector<const Answer*> seen(parts.size(), nullptr); // by the number of the part
    const auto nameOf = [&](const Answer& part) {
        const std::string number = "part " + std::to_string(part.at("part").at(0).get<std::int64_t>());
        const auto at = static_cast<std::size_t>(&part - parts.data());
        return at < files.size() ? files[at] + ": " + number : number;
    };
    Answer merged = parts.front();
    for (const char* key : {"part", "job", "order", "open", "too_large_text", "why", "sure", "digest", "least"})
        merged.erase(key);
    const Answer* first = nullptr;
    double open = kNothingOpen, seconds = 0;
    std::int64_t covered = 0, evaluated = 0, tightened = 0, simulated = 0, tooLarge = 0;
    bool stopped = false;
    try {
        for (const Answer& part : parts) {
            if (!part.contains("part"))
                throw Error("what is merged are answers of plan --part I/N --json");
            const auto index = part.at("part").at(0).get<std::int64_t>(), of = part.at("part").at(1).get<std::int64_t>();
            if (of != static_cast<std::int64_t>(parts.size()) || index < 1 || index > of)
                throw Error(nameOf(part) + " of " + std::to_string(of) + ", among " + std::to_string(parts.size()) +
                            " files: each of the " + std::to_string(of) + " parts is wanted once");
            if (const Answer*& other = seen[asIndex(index - 1)]; std::exchange(other, &part) != nullptr)
                throw Error(nameOf(part) + " of " + std::to_string(of) + " is there twice: each is wanted once");
            if (!part.at("held_fixed").is_object() || !part.at("objective").is_string() ||
                part.at("gpus").get<std::int64_t>() < 1 || part.at("covered").get<std::int64_t>() < 0)
                throw Error(nameOf(part) + ": gpus, objective, covered or held_fixed is not what plan --part I/N --json says");
            for (const char* list : {"best", "pareto", "rejected", "order"})
                if (!part.at(list).is_array() || (part.at("best").empty() != part.at("order").empty()))
                    throw Error(nameOf(part) + ": " + list + " is not what plan --part I/N --json says");
            if (!part.at("open").is_null() && !(part.at("open").get<double>() >= 0))
                throw Error(nameOf(part) + ": open is " + part.at("open").dump() + "; nothing is below 0");
            if (part.at("job") != parts.front().at("job"))
                throw Error(
                    nameOf(part) +
                    " is of another search: its scenario, GPUs, objective, price, margin, framework or what is held differ");
            for (const auto& [key, sum] : {std::pair{"covered", &covered},
                                           {"evaluated", &evaluated},
                                           {"tightened", &tightened},
                                           {"simulated", &simulated}})
                *sum += part.at(key).get<std::int64_t>();
            tooLarge += part.at("too_large").get<std::int64_t>();
            if (part.contains("too_large_text") && !merged.contains("too_large_text"))
                merged["too_large_text"] = part.at("too_large_text");
            stopped = stopped || part.at("stopped").get<bool>();
            seconds += part.at("seconds").get<double>();
            if (!part.at("open").is_null())
                open = std::min(open, part.at("open").get<double>());
            if (!part.at("best").empty() &&
                (first == nullptr || part.at("order").get<std::vector<double>>() < first->at("order").get<std::vector<double>>()))
                first = &part;
        }
        const double best = first == nullptr ? kNothingOpen : first->at("order").at(0).get<double>();
        const bool proved = open >= best;
        merged["covered"] = covered;
        merged["too_large"] = tooLarge;
        merged["proved"] = proved;
        merged["gap"] = proved ? 0.0 : first == nullptr ? 1.0 : 1 - open / best;
        merged["stopped"] = stopped;
        merged["seconds"] = seconds;
        merged["evaluated"] = evaluated;
        merged["tightened"] = tightened;
        merged["simulated"] = simulated;
        if (const std::optional<Answer> least = leastOfAll(parts))
            merged["least"] = *least;
        const bool byHeadroom = merged.at("objective") == "headroom";
        const Ties ties(parts, first, byHeadroom);
        merged["best"] = bestOf(parts, first, ties, top, byHeadroom);
        merged["pareto"] = frontierOf(parts, ties);
        merged["rejected"] = rejectedOfAll(parts, first, ties, byHeadroom);
    } catch (const Answer::exception&) {
        throw Error("a file is not an answer of plan --part I/N --json");
    }
    merged["parts"] = parts;
    return merged;
}

} // namespace sim
