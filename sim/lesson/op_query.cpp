#include "sim/lesson/op_query.h"

#include "sim/program/collective_kind.h"
#include "sim/schedule/schedule.h"
#include "sim/simulate/action_class.h"
#include "sim/text/nearest.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace sim {
namespace {

struct PassNotation {
    OpClass opClass = OpClass::other;
    int stage = -1, microbatch = -1, slice = -1; ///< -1: of any
};

/// The op that is asked about.
struct AskedOp {
    const Trace& trace;
    const Track& track;
    std::size_t span;
    const std::vector<std::string>& collectives; ///< [kind]
};

/// What a name means, and whether it means the same for all ops of a kind.
struct KnownName {
    OpQueryName shown;
    bool isOfKind;
    LessonValue (*valueOf)(const AskedOp&);
};

/// "all-gather"
std::string wordOf(const CollectiveFacts& facts)
{
    std::string word = facts.curve;
    std::replace(word.begin(), word.end(), '_', '-');
    return word;
}

const SpanKind& kindOf(const Trace& trace, const Track& track, std::size_t span)
{
    return trace.kinds[track.kind[span]];
}

const SpanKind& kindOf(const AskedOp& op)
{
    return kindOf(op.trace, op.track, op.span);
}

double microseconds(std::int64_t ns)
{
    return static_cast<double>(ns) * 1e-3;
}

const std::array kNames{
    KnownName{{"name", "of the op: \"attn.qkv\""}, true, [](const AskedOp& op) { return LessonValue(kindOf(op).name); }},
    KnownName{{"class", "\"forward\", \"backward\", \"tp comm\", …"},
              true,
              [](const AskedOp& op) { return LessonValue(opClassName(kindOf(op).opClass)); }},
    KnownName{{"comm", "true of communication"},
              true,
              [](const AskedOp& op) { return LessonValue(isCommunication(kindOf(op).opClass)); }},
    KnownName{{"collective",
               "\"all-reduce\", \"all-gather\", \"reduce-scatter\", \"all-to-all\", \"ring-shift\", \"send\", \"receive\"; "
               "its first letters do alone: all-gather"},
              true,
              [](const AskedOp& op) { return LessonValue(op.collectives[op.track.kind[op.span]]); }},
    KnownName{{"group", "process group of a collective: \"tp\""},
              true,
              [](const AskedOp& op) { return LessonValue(kindOf(op).group); }},
    KnownName{
        {"stage", "place in the model, -1 for none"}, true, [](const AskedOp& op) { return LessonValue(kindOf(op).stage); }},
    KnownName{{"layer", "likewise"}, true, [](const AskedOp& op) { return LessonValue(kindOf(op).layer); }},
    KnownName{{"bytes", "that it moves"}, true, [](const AskedOp& op) { return LessonValue(kindOf(op).bytes); }},
    KnownName{{"flops", "that it computes"}, true, [](const AskedOp& op) { return LessonValue(kindOf(op).flops); }},
    KnownName{{"duration_us", "in microseconds"},
              false,
              [](const AskedOp& op) { return LessonValue(microseconds(op.track.durationNs[op.span])); }},
    KnownName{{"start_us", "in microseconds after the trace's start"},
              false,
              [](const AskedOp& op) { return LessonValue(microseconds(op.track.startNs[op.span])); }},
    KnownName{{"microbatch", "-1 for none"},
              false,
              [](const AskedOp& op) {
                  return LessonValue(op.track.microbatch[op.span] < 0 ? -1 : op.track.microbatch[op.span] / op.trace.slices);
              }},
    KnownName{{"track", "\"compute\", \"tp comm\", …"}, false, [](const AskedOp& op) { return LessonValue(op.track.name); }},
    KnownName{{"rank", "the first of those that a row of the timeline stands for"},
              false,
              [](const AskedOp& op) { return LessonValue(op.trace.processes[static_cast<std::size_t>(op.track.process)].rank); }},
};

/// The op that is looked at, as names.
class OpNames final : public Names {
public:
    explicit OpNames(const Trace& trace, std::vector<std::string> collectives = {})
        : m_trace(trace), m_collectives(std::move(collectives))
    {
    }
    void lookAt(const Track& track, std::size_t span)
    {
        m_track = &track;
        m_span = span;
    }
    Meaning find(std::string_view name) const override
    {
        for (std::size_t i = 0; i < kNames.size(); ++i)
            if (name == kNames[i].shown.name) {
                m_values[i] = kNames[i].valueOf({m_trace, *m_track, m_span, m_collectives});
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
    const std::vector<std::string> m_collectives; ///< [kind]
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

/// A word as people spell it: "All_Gather", "all-gather" and "allgather" are one.
std::string spelled(std::string_view word)
{
    std::string out = lowered(word);
    std::erase_if(out, [](char c) { return c == '-' || c == '_' || c == ' '; });
    return out;
}

/// Of a kernel or a range of another program: the longest names first, as all-reduces are called after what they do.
std::string collectiveInName(const std::string& name)
{
    const std::string plain = spelled(name);
    for (const CollectiveFacts& facts : kCollectiveFacts)
        if (plain.find(spelled(facts.curve)) != std::string::npos)
            return wordOf(facts);
    if (plain.find("sendrecv") != std::string::npos)
        return "send";
    return plain.starts_with("send") ? "send" : plain.starts_with("recv") || plain.starts_with("receive") ? "receive" : "";
}

/// [kind]: what each is as a collective or transfer, "" for none. A simulation knows what its ops of a name do; else their names
/// have to say it.
std::vector<std::string> collectivesOf(const Trace& trace, const Simulation* simulation)
{
    std::map<std::pair<std::string, std::string>, std::string> known; // by name and group
    if (simulation) {
        const Program& program = simulation->program();
        for (const Pass& pass : program.passes)
            for (std::size_t i = 0; i < pass.ops.size(); ++i)
                if (const Op& op = pass.ops[i]; op.kind == OpKind::collective)
                    known.try_emplace({program.labels[op.label], communicatorRoleName(op.group)},
                                      wordOf(factsOf(pass.shapes[i].collective)));
    }
    std::vector<std::string> out;
    for (const SpanKind& kind : trace.kinds) {
        const auto found = known.find({kind.name, kind.group});
        out.push_back(found != known.end()            ? found->second
                      : isCommunication(kind.opClass) ? collectiveInName(kind.name)
                                                      : std::string());
    }
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

/// Passes as the timeline and schedules write them: "F3" of a micro-batch, "3B" of a stage, "0F3" of both, "F3.1" of a slice.
std::optional<PassNotation> passNotation(std::string_view text)
{
    const auto takeNumber = [&text] {
        int number = -1;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || number < 0)
            return -1;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        return number;
    };
    PassNotation out;
    out.stage = takeNumber();
    for (const ActionKind kind :
         {ActionKind::forward, ActionKind::backward, ActionKind::backwardInput, ActionKind::backwardWeight})
        if (!text.empty() && std::toupper(static_cast<unsigned char>(text.front())) == actionLetter(kind))
            out.opClass = opClassOf(kind);
    if (out.opClass == OpClass::other)
        return {};
    text.remove_prefix(1);
    out.microbatch = takeNumber();
    if (out.microbatch >= 0 && text.starts_with('.')) {
        text.remove_prefix(1);
        if (out.slice = takeNumber(); out.slice < 0)
            return {};
    }
    return text.empty() && (out.stage >= 0 || out.microbatch >= 0) ? std::optional(out) : std::nullopt;
}

bool isOf(const PassNotation& pass, const Trace& trace, const Track& track, std::size_t span)
{
    const SpanKind& kind = kindOf(trace, track, span);
    const std::int32_t counted = track.microbatch[span];
    return kind.opClass == pass.opClass && (pass.stage < 0 || kind.stage == pass.stage) &&
           (pass.microbatch < 0 || (counted >= 0 && counted / trace.slices == pass.microbatch)) &&
           (pass.slice < 0 || counted % trace.slices == pass.slice);
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

std::span<const char* const> opQueryWords()
{
    static constexpr std::array kWords{"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ring-shift", "send",
                                       "receive",    "comm",       "not comm",       "F0",         "0B",         "0F0"};
    return kWords;
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

OpFilter OpQuery::filterOf(const Trace& trace, const Simulation* simulation) const
{
    if (isForAll())
        return {};
    if (const auto pass = m_expression ? std::nullopt : passNotation(m_part))
        return [pass = *pass, &trace](std::uint32_t track, std::size_t span) {
            return isOf(pass, trace, trace.tracks[track], span);
        };
    std::vector<std::string> collectives = collectivesOf(trace, simulation);
    if (!m_expression)
        return oncePerKind(trace, [part = m_part, plain = spelled(m_part), collectives = std::move(collectives),
                                   &trace](const Track& track, std::size_t span) {
            constexpr std::size_t kFewestLetters = 5; // "all" and "reduce" are parts of names
            const std::string& name = kindOf(trace, track, span).name;
            const bool isKind = plain.size() >= kFewestLetters && spelled(collectives[track.kind[span]]).starts_with(plain);
            return isKind || lowered(name).find(part) != std::string::npos ||
                   lowered(spokenOp(name)).find(part) != std::string::npos;
        });
    const auto holds = [expression = m_expression,
                        names = std::make_shared<OpNames>(trace, std::move(collectives))](const Track& track, std::size_t span) {
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
