#include "sim/cli/plan_print.h"

#include "sim/answers/plan.h"
#include "sim/cli/table.h"
#include "sim/memory_limit.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>
#include <utility>
#include <vector>

namespace sim::cli {
namespace {

/// Of a layout of the answer: what was searched or asked to be held is in its settings, the rest is held for all.
std::string valueIn(const Answer& answer, const Answer& settings, const char* pointer)
{
    const Answer& held = answer.at("held_fixed");
    if (!settings.contains(pointer) && !held.contains(pointer))
        return "-";
    const Answer& value = settings.contains(pointer) ? settings.at(pointer) : held.at(pointer);
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "66.0 GiB"; of less than one "21.9 MiB".
std::string planMemory(double gib)
{
    return std::abs(gib) >= 1 ? fixed(gib, 1) + " GiB" : numberText(gib * kBytesPerGib, Unit::bytes);
}

std::string gridIn(const Answer& grid)
{
    std::string text;
    for (const char* key : {"tp", "cp", "pp", "dp", "ep"})
        text += (text.empty() ? "" : ", ") + std::string(key) + " " + std::to_string(grid.at(key).get<int>());
    return grid.at("etp") == grid.at("tp") ? text : text + ", etp " + std::to_string(grid.at("etp").get<int>());
}

/// Grids that are not legal, by the key whose rule they break, with one of each.
void printRules(const Answer& answer, std::ostream& out)
{
    std::map<std::string, std::pair<int, const Answer*>> byKey;
    for (const Answer& grid : answer.at("rejected"))
        if (grid.at("reason") == "rule") {
            const std::string text = grid.at("text").get<std::string>();
            auto& [count, first] = byKey[text.substr(0, text.find(':'))];
            if (count++ == 0)
                first = &grid;
        }
    for (const auto& [key, of] : byKey)
        out << "  " << countedText(of.first, "grid") << (of.first > 1 ? ", as " : ", ") << gridIn(*of.second)
            << ": rule: " << of.second->at("text").get<std::string>() << "\n";
}

/// Grids that have no place in it; of a merged one those of all parts, which say more.
std::vector<const Answer*> rejectedOf(const Answer& answer)
{
    std::vector<const Answer*> grids;
    const auto addOf = [&](const Answer& of) {
        for (const Answer& grid : of.at("rejected"))
            grids.push_back(&grid);
    };
    if (answer.contains("parts"))
        std::for_each(answer.at("parts").begin(), answer.at("parts").end(), addOf);
    else
        addOf(answer);
    return grids;
}

/// Why there is no layout: the rule that forbids most, or what the leanest holds.
std::string whyNothing(const Answer& answer)
{
    const std::vector<const Answer*> rejected = rejectedOf(answer);
    if (rejected.empty())
        return "; " + answer.value("no_grid", "no sizes of tp, cp, pp, dp have this product with what is held: fewer --fix, or "
                                              "another --gpus");
    const Answer* leanest = nullptr;
    const Answer* host = nullptr; // what fits its GPUs alone
    std::size_t forbidden = 0;
    std::map<std::string, std::pair<int, const Answer*>> rules; // with one of each
    for (const Answer* grid : rejected) {
        if (grid->at("reason") == "rule") {
            const std::string text = grid->at("text").get<std::string>();
            auto& [count, one] = rules.try_emplace(text.substr(0, text.find(':')), 0, grid).first->second;
            ++count;
            ++forbidden;
        }
        if (grid->contains("need_host_gib"))
            host = grid;
        if (grid->contains("need_gib") &&
            (leanest == nullptr || grid->at("need_gib").get<double>() < leanest->at("need_gib").get<double>()))
            leanest = grid;
    }
    if (host != nullptr)
        return "; as of " + gridIn(*host) + ": " + host->at("text").get<std::string>();
    const std::string least = answer.contains("least") ? "; " + answer.at("least").at("text").get<std::string>() : std::string();
    if (leanest != nullptr)
        return "; the leanest that was found, " + gridIn(*leanest) + ", holds " +
               planMemory(leanest->at("need_gib").get<double>()) + " on its fullest GPU" + least +
               ": more GPUs (--gpus), a smaller --margin or fewer --fix may help";
    if (!least.empty())
        return least + ": more GPUs (--gpus), a smaller --margin or fewer --fix may help";
    if (answer.at("covered").get<std::int64_t>() > 0 && forbidden < rejected.size())
        return "; more GPUs (--gpus), a smaller --margin or fewer --fix may help";
    const auto most = std::max_element(rules.begin(), rules.end(),
                                       [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
    if (most == rules.end())
        return {};
    const Answer& grid = *most->second.second;
    return "; a rule forbids each, as of " + gridIn(grid) + ": " + grid.at("text").get<std::string>();
}

} // namespace

std::string MemoryColumn::text(double gib) const
{
    constexpr double kMibOfGib = 1024;
    return fixed(gib * (m_isSmall ? kMibOfGib : 1), 1);
}

void printPlan(const Answer& answer, std::ostream& out)
{
    const Answer& best = answer.at("best");
    out << planProof(answer) << "\n";
    if (!best.empty()) {
        out << "\n";
        const int paceBatch = answer.value("pace_batch", 0);
        const bool hasPace = paceBatch > 0, byTokens = answer.at("objective") == "tokens";
        const bool hasEtp = std::any_of(best.begin(), best.end(), [&](const Answer& layout) {
            const Answer& settings = layout.at("settings");
            const std::string etp = valueIn(answer, settings, "/layout/etp");
            return etp != "-" && etp != valueIn(answer, settings, "/layout/tp");
        });
        std::vector<std::string> header{"", "tp", "cp", "pp", "dp", "ep"};
        if (hasEtp)
            header.emplace_back("etp");
        header.insert(header.end(), {"schedule", "v", "micro-batch"});
        if (hasPace)
            header.emplace_back("batch");
        header.insert(header.end(), {"zero", "shard", "sp", "recompute", "step", "closed form"});
        if (hasPace)
            header.push_back("for " + grouped(paceBatch));
        if (byTokens)
            header.emplace_back("tokens a day");
        const bool hasCost = best.front().contains("cost"), hasHours = answer.at("objective") == "gpu-hours";
        if (hasCost || hasHours)
            header.push_back((hasCost ? "cost" : "GPU hours") +
                             (best.front().contains("run_days") ? " of the run" : ofBatch(paceBatch)));
        double mostGib = 0;
        for (const Answer& layout : best)
            mostGib = std::max(mostGib, layout.at("peak_memory_gib").get<double>());
        const MemoryColumn memory(mostGib);
        header.insert(header.end(), {memory.name(), ""});
        Table table(header);
        int place = 0;
        for (const Answer& layout : best) {
            const Answer& settings = layout.at("settings");
            const auto value = [&](const char* pointer) { return valueIn(answer, settings, pointer); };
            std::vector<std::string> row{std::to_string(++place)};
            for (const char* pointer : {"/layout/tp", "/layout/cp", "/layout/pp", "/layout/dp", "/layout/ep"})
                row.push_back(value(pointer));
            if (hasEtp)
                row.push_back(value("/layout/etp"));
            for (const char* pointer : {"/schedule/kind", "/schedule/virtual_stages", "/training/micro_batch_size"})
                row.push_back(value(pointer));
            if (hasPace)
                row.push_back(value("/training/global_batch_size"));
            for (const char* pointer :
                 {"/layout/zero_stage", "/layout/dp_shard", "/layout/sequence_parallel", "/training/recompute"})
                row.push_back(value(pointer));
            row.push_back(seconds(layout.at("step_time_s").get<double>()));
            row.push_back(seconds(layout.at("closed_form_s").get<double>()));
            if (hasPace)
                row.push_back(seconds(layout.at("pace_s").get<double>()));
            if (byTokens)
                row.push_back(tokensADay(layout.at("tokens_per_second").get<double>()));
            if (hasCost || hasHours)
                row.push_back(amount(layout.at(hasCost ? "cost" : "gpu_hours").get<double>()));
            row.push_back(memory.text(layout.at("peak_memory_gib").get<double>()));
            const std::string tie = layout.at("tie_with_first") == true ? "tie with the first" : "";
            const std::string tight =
                tightText(layout.at("peak_memory_gib").get<double>(), layout.at("headroom_gib").get<double>());
            row.push_back(tie + (tie.empty() || tight.empty() ? "" : "; ") + tight);
            table.add(std::move(row));
        }
        table.print(out);
        out << tightRemark(best.front().at("peak_memory_gib").get<double>(), best.front().at("headroom_gib").get<double>());
        if (best.size() > 1)
            out << "Places after the first are of what was simulated; others between them may not have been.\n"
                << (answer.contains("no_ties") ? "Ties cannot be told: " + answer.at("no_ties").get<std::string>() + "\n" : "");
        if (const Answer& frontier = answer.value("pareto", Answer::array()); frontier.size() > 1) {
            constexpr std::size_t kMostOfFrontier = 8;
            out << "Faster or leaner, of what was simulated:";
            for (std::size_t i = 0; i < std::min(kMostOfFrontier, frontier.size()); ++i)
                out << (i == 0 ? " " : ", ") << seconds(frontier[i].at(hasPace ? "pace_s" : "step_time_s").get<double>())
                    << " in " << planMemory(frontier[i].at("peak_memory_gib").get<double>());
            out << (frontier.size() > kMostOfFrontier ? ", …\n" : "\n");
        }
        place = 0;
        constexpr const char* kLayers = "/schedule/layers_per_stage"; // where held, they are under Held
        for (const Answer& layout : best)
            if (++place; layout.at("settings").contains(kLayers) && !answer.at("held_fixed").value(kLayers, Answer()).is_array())
                out << "Layers of each stage of " << place << ": " << valueIn(answer, layout.at("settings"), kLayers) << "\n";
    }
    std::map<std::string, int> reasons;
    for (const Answer& grid : answer.at("rejected"))
        ++reasons[grid.at("reason").get<std::string>()];
    if (!reasons.empty()) {
        out << "\nGrids not chosen:";
        for (const char* separator = " "; const auto& [reason, number] : reasons) {
            out << separator << grouped(number) << " " << reason;
            separator = ", ";
        }
        out << "\n";
    }
    printRules(answer, out);
    // Of those that a stopped search did not come to, there is the same to say.
    std::map<std::string, int> open;
    for (const Answer& grid : answer.at("rejected"))
        if (grid.at("reason") == "open")
            ++open[grid.at("text").get<std::string>()];
    for (const Answer& grid : answer.at("rejected")) {
        if (grid.at("reason") == "rule")
            continue;
        if (const auto alike = open.find(grid.at("text").get<std::string>()); grid.at("reason") == "open" && alike->second != 1) {
            if (const int count = std::exchange(alike->second, 0); count > 0)
                out << "  " << countedText(count, "grid") << ", as " << gridIn(grid) << ": open: " << alike->first << "\n";
            continue;
        }
        out << "  tp " << grid.at("tp") << ", cp " << grid.at("cp") << ", pp " << grid.at("pp") << ", dp " << grid.at("dp");
        if (grid.at("ep") != 1 || grid.at("etp") != grid.at("tp"))
            out << ", ep " << grid.at("ep") << ", etp " << grid.at("etp");
        out << ": " << grid.at("reason").get<std::string>() << ": " << grid.at("text").get<std::string>() << "\n";
    }
    out << "\nHeld:";
    for (const auto& [pointer, value] : answer.at("held_fixed").items())
        out << " " << pointer << "=" << value.dump();
    const Answer rules = answer.value("held_rules", Answer::object()); // parts of earlier versions have none
    for (const auto& [pointer, rule] : rules.items())
        out << "\n  " << pointer << ": " << (rule.is_string() ? rule.get<std::string>() : rule.dump());
    out << "\n";
}

std::string tightRemark(double peakGib, double headroomGib)
{
    const std::string tight = tightText(peakGib, headroomGib);
    if (tight.empty())
        return {};
    std::ostringstream margin; // as it is typed: 4, 3.25
    margin << std::setprecision(3) << kTightShare * (peakGib + headroomGib);
    return "Tight: " + tight + "; what the model does not know may not fit (--margin " + margin.str() + " keeps " + margin.str() +
           " GiB free)\n";
}

std::string nothingFits(const Answer& answer)
{
    const bool stopped = answer.at("stopped").get<bool>(); // then what was not come to may hold one
    return "no layout on " + countedText(answer.at("gpus").get<std::int64_t>(), "GPU") + " was found that is legal and fits" +
           (stopped ? " before it was stopped" : whyNothing(answer));
}

std::string tokensADay(double tokensPerSecond)
{
    constexpr double kSecondsPerDay = 86400;
    return threeDigits(tokensPerSecond * kSecondsPerDay / 1e9) + " billion";
}

std::string threeDigits(double value)
{
    return numberText(value, Unit::number);
}

std::string amount(double value)
{
    constexpr double kWithoutCents = 100, kWithCents = 1;
    return value >= kWithoutCents ? grouped(std::llround(value)) : value >= kWithCents ? fixed(value, 2) : threeDigits(value);
}

std::string ofBatch(int paceBatch)
{
    return paceBatch > 0 ? " for " + grouped(paceBatch) : " of a step";
}

std::string worthTheirPrice(const Answer& pareto)
{
    std::string text = "Sooner done or for less than any other of these:";
    for (std::size_t i = 0; i < pareto.size(); ++i) {
        const Answer& of = pareto[i];
        text +=
            (i == 0 ? " " : ", ") + countedText(of.at("gpus").get<std::int64_t>(), "GPU") + " in " +
            threeDigits(of.at("run_days").get<double>()) + " days for " +
            (of.contains("cost") ? amount(of.at("cost").get<double>()) : amount(of.at("gpu_hours").get<double>()) + " GPU hours");
    }
    return text;
}

namespace {
/// What a size takes at least; where that reads like the deadline, more than it.
std::string tooSlow(const Answer& size, const std::string& deadline)
{
    const std::string least = threeDigits(size.at("least_days").get<double>()) + " days";
    if (!size.at("proved").get<bool>())
        return "not known to be in time: takes " + least + " at least\n";
    return least == deadline ? "takes more than " + least + "\n" : "takes " + least + " at least\n";
}
} // namespace

void printSizes(const Answer& answer, std::ostream& out)
{
    const Answer& deadline = answer.at("deadline");
    const std::string days = threeDigits(deadline.at("days").get<double>()) + " days";
    for (const Answer& size : deadline.at("tried")) {
        out << "  " << countedText(size.at("gpus").get<std::int64_t>(), "GPU") << ": ";
        if (size.at("meets").get<bool>())
            out << "in time\n";
        else if (size.contains("problem"))
            out << size.at("problem").get<std::string>() << "\n";
        else if (size.at("least_days").is_null())
            out << "nothing fits\n";
        else
            out << tooSlow(size, days);
    }
    const std::int64_t gpus = answer.at("gpus").get<std::int64_t>();
    const std::string tokens = threeDigits(deadline.at("tokens").get<double>() / 1e9) + " billion tokens in " + days;
    if (gpus == 0)
        out << "None of these trains " << tokens << (answer.at("stopped").get<bool>() ? ", as far as was looked\n\n" : "\n\n");
    else
        out << (deadline.at("fewest").get<bool>() ? "The fewest GPUs that train " : "The fewest that were found to train ")
            << tokens << ": " << grouped(gpus) << ", in " << threeDigits(deadline.at("run_days").get<double>())
            << " days of steps\n\n";
}

void printRobust(const RobustChoice& choice, std::ostream& out)
{
    if (choice.layouts.empty())
        return;
    const auto letter = [](std::size_t i) { return std::string(1, static_cast<char>('A' + i)); };
    out << "\nWhere not all goes as planned, of the layouts near the first:\n";
    std::vector<std::string> header{"case"};
    for (std::size_t i = 0; i < choice.layouts.size(); ++i) {
        out << "  " << letter(i) << "  " << choice.names[i] << "\n";
        header.push_back(letter(i));
    }
    out << "\n";
    Table table(header);
    for (std::size_t of = 0; of < choice.cases.size(); ++of) {
        std::vector<std::string> row{choice.cases[of].name};
        for (const std::vector<double>& ofLayout : choice.seconds)
            row.push_back(seconds(ofLayout[of]));
        table.add(std::move(row));
    }
    std::vector<std::string> worst{"most behind the best of them"};
    for (std::size_t i = 0; i < choice.layouts.size(); ++i)
        worst.push_back(percent(choice.worstRegret(i)));
    table.add(std::move(worst));
    table.print(out);
    out << "\n" << robustText(choice) << "\n";
}

namespace {
/// Three digits of what may be much less than what it is of.
std::string memoryDifference(double gib)
{
    return numberText(gib * kBytesPerGib, Unit::bytes);
}
} // namespace

void printWhy(const Answer& why, const std::string& ofPart, std::ostream& out)
{
    const auto asked = [](const Answer& of) { return of.at("pointer").get<std::string>() + " = " + of.at("value").dump(); };
    out << "\nWhy not " << asked(why.at("asked"));
    for (const Answer& with : why.value("asked_with", Answer::array()))
        out << ", " << asked(with);
    out << ofPart << "? ";
    if (why.at("best").is_null()) {
        out << why.at("text").get<std::string>() << "\n";
        return;
    }
    if (why.at("is_first").get<bool>()) {
        out << "The first has it.\n";
        return;
    }
    const std::string best = why.at("proved").get<bool>() ? "The best with it" : "The best with it of those simulated";
    if (why.contains("delta_gib")) { // what was asked for is to hold less, however long that takes
        const double more = why.at("delta_gib").get<double>();
        out << best << " holds " << planMemory(why.at("best").at("peak_memory_gib").get<double>()) << ", "
            << memoryDifference(std::abs(more)) << (more >= 0 ? " more" : " less") << ":\n";
        for (const Answer& term : why.at("memory_terms")) {
            const double gib = term.at("delta_gib").get<double>();
            out << "  " << term.at("part").get<std::string>() << (gib >= 0 ? " +" : " −") << memoryDifference(std::abs(gib))
                << "\n";
        }
        return;
    }
    if (const double tokens = why.at("tokens_ratio").get<double>(); tokens != 1) { // a step of other work: per token
        out << best << " takes " << seconds(why.at("best").at("step_time_s").get<double>()) << " for " << threeDigits(tokens)
            << " times the tokens of a step: per token " << threeDigits(std::abs(why.at("per_token").get<double>() - 1) * 100)
            << " % " << (why.at("per_token").get<double>() >= 1 ? "more" : "less") << "\n";
        return;
    }
    const double delta = why.at("delta_s").get<double>();
    const std::string sure = why.at("sure").get<std::string>();
    out << best << " takes " << seconds(why.at("best").at("step_time_s").get<double>()) << ", "
        << (delta == 0 ? std::string("as long as the first") : seconds(std::abs(delta)) + (delta > 0 ? " more" : " less"))
        << (sure.empty() ? "" : " (" + sure + ")") << (why.at("terms").empty() ? "\n" : ":\n");
    for (const Answer& term : why.at("terms")) {
        const double seconds_ = term.at("delta_s").get<double>();
        out << "  " << term.at("part").get<std::string>() << (seconds_ >= 0 ? " +" : " −") << seconds(std::abs(seconds_)) << "\n";
    }
}

std::string standing(const PlanProgress& now)
{
    const auto either = [&](double ofSeconds, double ofBytes) {
        return ofBytes > 0     ? fixed(ofBytes / kBytesPerGib, 1) + " GiB"
               : ofSeconds > 0 ? seconds(ofSeconds)
                               : std::string("none yet");
    };
    return "best " + either(now.floorBytes > 0 ? 0 : now.bestSeconds, now.bestBytes) + ", floor " +
           either(now.floorSeconds, now.floorBytes);
}

} // namespace sim::cli
