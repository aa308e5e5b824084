#include "sim/lesson/op_query.h"

#include "sim/text/nearest.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

namespace sim {
namespace {

/// What a name means, and whether it means the same for all ops of a kind.
struct KnownName {
    OpQueryName shown;
    bool isOfKind;
    LessonValue (*valueOf)(const Trace&, const Track&, std::size_t span);
};

const SpanKind& kindOf(const Trace& trace, const Track& track, std::size_t span)
{
    return trace.kinds[track.kind[span]];
}

double microseconds(std::int64_t ns)
{
    return static_cast<double>(ns) * 1e-3;
}

const std::array kNames{
    KnownName{{"name", "of the op: \"attn.qkv\""},
              true,
              [](const Trace& t, const Track& k, std::size_t i) { return LessonValue(kindOf(t, k, i).name); }},
    KnownName{{"class", "\"forward\", \"backward\", \"tp comm\", …"},
              true,
              [](const Trace& t, const Track& k, std::size_t i) { return LessonValue(opClassName(kindOf(t, k, i).opClass)); }},
    KnownName{
        {"comm", "true of communication"},
        true,
        [](const Trace& t, const Track& k, std::size_t i) { return LessonValue(isCommunication(kindOf(t, k, i).opClass)); }},
    KnownName{{"group", "process group of a collective: \"tp\""},
              true,
              [](const Trace& t, const Track& k, std::size_t i) { return LessonValue(kindOf(t, k, i).group); }},
    KnownName{{"stage", "place in the model, -1 for none"},
              true,
              [](const Trace& t, const Track& k, std::size_t i) { return LessonValue(kindOf(t, k, i).stage); }},
    KnownName{{"layer", "likewise"},
              true,
              [](const Trace& t, const Track& k, std::size_t i) { return LessonValue(kindOf(t, k, i).layer); }},
    KnownName{{"bytes", "that it moves"},
              true,
              [](const Trace& t, const Track& k, std::size_t i) { return LessonValue(kindOf(t, k, i).bytes); }},
    KnownName{{"flops", "that it computes"},
              true,
              [](const Trace& t, const Track& k, std::size_t i) { return LessonValue(kindOf(t, k, i).flops); }},
    KnownName{{"duration_us", "in microseconds"},
              false,
              [](const Trace&, const Track& k, std::size_t i) { return LessonValue(microseconds(k.durationNs[i])); }},
    KnownName{{"start_us", "in microseconds after the trace's start"},
              false,
              [](const Trace&, const Track& k, std::size_t i) { return LessonValue(microseconds(k.startNs[i])); }},
    KnownName{{"microbatch", "-1 for none"},
              false,
              [](const Trace& t, const Track& k, std::size_t i) {
                  return LessonValue(k.microbatch[i] < 0 ? -1 : k.microbatch[i] / t.slices);
              }},
    KnownName{{"track", "\"compute\", \"tp comm\", …"},
              false,
              [](const Trace&, const Track& k, std::size_t) { return LessonValue(k.name); }},
    KnownName{{"rank", "the first of those that a row of the timeline stands for"},
              false,
              [](const Trace& t, const Track& k, std::size_t) {
                  return LessonValue(t.processes[static_cast<std::size_t>(k.process)].rank);
              }},
};

/// The op that is looked at, as names.
class OpNames final : public Names {
public:
    explicit OpNames(const Trace& trace) : m_trace(trace) {}
    void lookAt(const Track& track, std::size_t span)
    {
        m_track = &track;
        m_span = span;
    }
    Meaning find(std::string_view name) const override
    {
        for (std::size_t i = 0; i < kNames.size(); ++i)
            if (name == kNames[i].shown.name) {
                m_values[i] = kNames[i].valueOf(m_trace, *m_track, m_span);
                return &m_values[i];
            }
        return {};
    }
    std::vector<std::string> known() const override
    {
        std::vector<std::string> names;
        for (const KnownName& name : kNames)
            names.emplace_back(name.shown.name);
        return names;
    }

private:
    const Trace& m_trace;
    const Track* m_track = nullptr;
    std::size_t m_span = 0;
    mutable std::array<LessonValue, kNames.size()> m_values;
};

std::string lowered(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

const KnownName* findName(std::string_view name)
{
    const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const KnownName& n) { return name == n.shown.name; });
    return found == kNames.end() ? nullptr : &*found;
}

/// What is asked of an op in the place of a name that none has: the nearest there are; else the question that a word on its own
/// most likely meant, and all names.
std::string whatThereIs(const std::string& asked)
{
    const std::vector<std::string> names = OpNames(Trace()).known();
    if (std::string nearest = nearestWords(asked, names); nearest.starts_with("; nearest"))
        return nearest; // else all of them, with the question that was meant
    constexpr std::array<std::string_view, 5> kGroups{"tp", "cp", "pp", "dp", "ep"};
    const bool isGroup = std::find(kGroups.begin(), kGroups.end(), asked) != kGroups.end();
    std::string text = isGroup ? "; of its communication: group == \"" + asked + "\""
                               : "; of names that hold it: contains(name, \"" + asked + "\")";
    text += "; ops have ";
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

/// Whether words alone are an expression all the same: "comm", "not comm", "comm and not comm".
bool isOfTruths(std::string_view text)
{
    std::istringstream words{std::string(text)};
    bool isNamed = false;
    for (std::string word; words >> word;) {
        const bool joins = word == "and" || word == "or" || word == "not";
        if (!joins && word != "comm") // the one name that is true or false
            return false;
        isNamed = isNamed || !joins;
    }
    return isNamed;
}

/// Asks once a kind.
OpFilter oncePerKind(const Trace& trace, std::function<bool(const Track&, std::size_t)> holds)
{
    enum class Asked : char { never, yes, no };
    return [&trace, holds = std::move(holds), answers = std::vector<Asked>(trace.kinds.size())](std::uint32_t t,
                                                                                                std::size_t span) mutable {
        const Track& track = trace.tracks[t];
        Asked& answer = answers[track.kind[span]];
        if (answer == Asked::never)
            answer = holds(track, span) ? Asked::yes : Asked::no;
        return answer == Asked::yes;
    };
}

} // namespace

OpQueryExamples opQueryExamples(const Trace& trace, const OpTable& table)
{
    if (table.all.count == 0)
        return {};
    const Track& track = trace.tracks[table.all.longestTrack];
    const SpanKind& kind = kindOf(trace, track, table.all.longestSpan);
    const auto isOfWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    const auto begin = std::find_if(kind.name.begin(), kind.name.end(), isOfWord);
    // Half of what it takes, to one digit.
    const double half = std::max(0.002, microseconds(track.durationNs[table.all.longestSpan]) / 2);
    const double digit = std::pow(10, std::floor(std::log10(half)));
    std::array<char, 40> limit{};
    std::snprintf(limit.data(), limit.size(), "%.*f", digit < 1 ? 3 : 0, std::floor(half / digit) * digit);
    return {.part = {begin, std::find_if_not(begin, kind.name.end(), isOfWord)},
            .expression =
                std::string("duration_us > ") + limit.data() + (isCommunication(kind.opClass) ? " and comm" : " and not comm")};
}

std::span<const OpQueryName> opQueryNames()
{
    static const auto names = [] {
        std::array<OpQueryName, kNames.size()> out{};
        std::transform(kNames.begin(), kNames.end(), out.begin(), [](const KnownName& name) { return name.shown; });
        return out;
    }();
    return names;
}

OpQuery OpQuery::parse(std::string_view text)
{
    OpQuery query;
    if (text.find_first_of("<>=!()\"'") == std::string_view::npos && !isOfTruths(text)) {
        const std::size_t begin = text.find_first_not_of(" \t\n");
        if (begin != std::string_view::npos)
            query.m_part = lowered(text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1));
        // No op is called by a time; other names ("layer", "rank") may be parts of theirs.
        if (query.m_part.ends_with("_us") && findName(query.m_part) != nullptr)
            throw ExpressionError(begin, "\"" + query.m_part + "\" alone asks nothing; compare it: " + query.m_part + " > 50");
        return query;
    }
    query.m_expression = std::make_shared<const Expression>(Expression::parse(text));
    for (const Expression::NameAsked& asked : query.m_expression->namesAsked())
        if (!findName(asked.name))
            throw ExpressionError(asked.position, "ops have no \"" + asked.name + "\"" + whatThereIs(asked.name));
    return query;
}

OpFilter OpQuery::filterOf(const Trace& trace) const
{
    if (isForAll())
        return {};
    if (!m_expression)
        return oncePerKind(trace, [part = m_part, &trace](const Track& track, std::size_t span) {
            const std::string& name = kindOf(trace, track, span).name;
            return lowered(name).find(part) != std::string::npos || lowered(spokenOp(name)).find(part) != std::string::npos;
        });
    const auto holds = [expression = m_expression, names = std::make_shared<OpNames>(trace)](const Track& track,
                                                                                             std::size_t span) {
        names->lookAt(track, span);
        const LessonValue value = expression->evaluate(*names);
        if (!value.is_boolean())
            throw ExpressionError(0, "it comes to " + shownValue(value) +
                                         ", which is neither true nor false; compare it with something");
        return value.get<bool>();
    };
    const auto asked = m_expression->namesAsked();
    if (std::all_of(asked.begin(), asked.end(), [](const Expression::NameAsked& name) { return findName(name.name)->isOfKind; }))
        return oncePerKind(trace, holds);
    return [&trace, holds](std::uint32_t track, std::size_t span) { return holds(trace.tracks[track], span); };
}

} // namespace sim
