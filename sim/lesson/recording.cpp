#include "sim/lesson/recording.h"

#include "sim/lesson/cases.h"
#include "sim/lesson/check.h"
#include "sim/scenario/json_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace sim {
namespace {

constexpr std::array kRecordedMetrics{
    RecordedMetric{"step_time_s", "the step time", "How long is the step", "s"},
    RecordedMetric{"peak_memory_gib", "the peak memory", "How much is the peak memory", "GiB"},
    RecordedMetric{"bubble_fraction", "the bubble", "How large is the bubble", "%"},
    RecordedMetric{"mfu", "MFU", "How high is MFU", "%"},
    RecordedMetric{"tokens_per_second", "the tokens a second", "How many tokens a second are trained", "tokens/s"},
    RecordedMetric{"tokens_per_second_per_gpu", "the tokens a second and GPU", "How many tokens a second and GPU are trained",
                   "tokens/s"},
    RecordedMetric{"exposed_comm_fraction.dp", "the exposed data-parallel communication",
                   "How much is the exposed data-parallel communication", "%"},
    RecordedMetric{"exposed_comm_fraction.tp", "the exposed tensor-parallel communication",
                   "How much is the exposed tensor-parallel communication", "%"},
    RecordedMetric{"exposed_comm_fraction.pp", "the exposed pipeline communication",
                   "How much is the exposed pipeline communication", "%"},
    RecordedMetric{"world_size", "the number of GPUs", "How many GPUs are there", ""},
};
constexpr double kAlike = 0.05; ///< share by which two numbers may differ and be about the same

const RecordedMetric& metricNamed(const std::string& name)
{
    const auto found =
        std::find_if(kRecordedMetrics.begin(), kRecordedMetrics.end(), [&](const RecordedMetric& m) { return m.name == name; });
    if (found == kRecordedMetrics.end())
        throw Error("there is no number " + quotedText(name) + " to be asked for");
    return *found;
}

/// What a scenario is, whatever is on screen of it.
LessonValue substanceOf(const ScenarioDocument& document)
{
    LessonValue value = parseStrict(document.text(), document.fileName());
    value.erase("view");
    return value;
}

std::string escapedKey(const std::string& key)
{
    std::string out;
    for (const char c : key)
        out += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
    return out;
}

/// Pointers and values that make `to` of `from`; null takes a key out.
void differences(const LessonValue& from, const LessonValue& to, const std::string& pointer, LessonValue& out)
{
    for (const auto& [key, value] : from.items())
        if (!to.contains(key))
            out[pointer + "/" + escapedKey(key)] = nullptr;
    for (const auto& [key, value] : to.items()) {
        const std::string at = pointer + "/" + escapedKey(key);
        const LessonValue* before = memberOf(from, key);
        if (before != nullptr && before->is_object() && value.is_object())
            differences(*before, value, at, out);
        else if (before == nullptr || *before != value)
            out[at] = value;
    }
}

/// The gallery's scenario of this substance; empty: none.
std::string galleryName(const LessonValue& substance, const ScenarioDocument& document, const Catalogue& catalogue)
{
    const std::string stem = std::filesystem::path(document.fileName()).stem().string();
    if (stem.empty())
        return {};
    try {
        return substanceOf(namedScenario(stem, {}, "", catalogue)) == substance ? stem : std::string();
    } catch (const Error&) {
        return {};
    }
}

class LessonWriter {
public:
    explicit LessonWriter(const Catalogue& catalogue) : m_catalogue(catalogue), m_names(std::string(), catalogue) {}

    std::string caseOf(const ScenarioDocument& document)
    {
        const LessonValue substance = substanceOf(document);
        for (const Known& known : m_known)
            if (known.substance == substance)
                return known.name;
        const std::string name = "case_" + std::to_string(m_known.size() + 1);
        LessonValue definition = definitionOf(substance, document);
        m_names.add({name, "/cases/" + name, definition});
        static_cast<void>(resolvedScenario(std::get<ScenarioDocument>(*m_names.subject(name)), m_catalogue));
        m_cases[name] = std::move(definition);
        m_known.push_back({name, substance});
        return name;
    }
    double valueOf(const std::string& expression) const
    {
        const LessonValue value = Expression::parse(expression).evaluate(m_names);
        if (!value.is_number())
            throw Error(expression + " is " + shownValue(value) + "; a number is expected");
        return value.get<double>();
    }
    const LessonValue& cases() const { return m_cases; }
    /// What one case has otherwise than another, for a sentence: " with kind gpipe, stages 4"; of many changes, that there are.
    std::string changesOf(const std::string& from, const std::string& to) const
    {
        constexpr std::size_t kMostTold = 3;
        LessonValue changes = LessonValue::object();
        differences(substance(from), substance(to), {}, changes);
        for (const char* untold : {"/name", "/description", "/format", "/version"})
            changes.erase(untold);
        std::string words;
        for (const auto& [pointer, value] : changes.items()) {
            if (value.is_structured() || changes.size() > kMostTold)
                return " in the scenario that comes next";
            std::string name = pointer.substr(pointer.rfind('/') + 1);
            std::replace(name.begin(), name.end(), '_', ' ');
            words += (words.empty() ? " with " : ", ") +
                     (value.is_null() ? "no " + name
                                      : name + " " + (value.is_string() ? value.get<std::string>() : shownValue(value)));
        }
        return words;
    }

private:
    struct Known {
        std::string name;
        LessonValue substance;
    };
    const LessonValue& substance(const std::string& name) const
    {
        return std::find_if(m_known.begin(), m_known.end(), [&](const Known& known) { return known.name == name; })->substance;
    }
    LessonValue definitionOf(const LessonValue& substance, const ScenarioDocument& document) const
    {
        if (const std::string name = galleryName(substance, document, m_catalogue); !name.empty())
            return {{"scenario", name}};
        constexpr std::size_t kMostChanges = 12;
        LessonValue least;
        std::string from;
        for (const Known& known : m_known) {
            LessonValue changes = LessonValue::object();
            differences(known.substance, substance, {}, changes);
            if (changes.size() <= kMostChanges && (from.empty() || changes.size() < least.size())) {
                least = std::move(changes);
                from = known.name;
            }
        }
        if (from.empty())
            return {{"scenario", substance}};
        return {{"from", from}, {"set", least}};
    }
    const Catalogue& m_catalogue;
    Cases m_names;
    LessonValue m_cases = LessonValue::object();
    std::vector<Known> m_known;
};

/// From 0 to a round number well above: the answer is not read off the ends.
std::optional<std::pair<double, double>> rangeAround(double answer)
{
    constexpr double kRoom = 1.7;
    if (!(answer > 0) || !std::isfinite(answer))
        return std::nullopt;
    const double wanted = answer * kRoom, magnitude = std::pow(10.0, std::floor(std::log10(wanted)));
    for (const double step : {1.0, 2.0, 3.0, 5.0, 8.0, 10.0})
        if (step * magnitude >= wanted)
            return std::pair{0.0, step * magnitude};
    return std::nullopt;
}

LessonValue questionOf(const RecordedQuestion& asked, const std::string& id, const std::string& shown, const std::string& before,
                       const LessonWriter& writer)
{
    const RecordedMetric& metric = metricNamed(asked.metric);
    const std::string answer = shown + "." + asked.metric;
    // It is asked beside the picture of the step before.
    const std::string with = before.empty() || before == shown ? std::string() : writer.changesOf(before, shown);
    LessonValue question{{"id", id}, {"sure", true}};
    if (asked.kind == RecordedQuestion::Kind::compared) {
        if (before.empty())
            throw Error("the first step has none before it to be compared with: ask for a number there");
        if (before == shown)
            throw Error("the step before shows the same scenario: there is nothing to compare");
        const std::string was = before + "." + asked.metric;
        const std::string less = answer + " < " + was + " * " + shownValue(1 - kAlike),
                          more = answer + " > " + was + " * " + shownValue(1 + kAlike);
        question["ask"] = asked.ask.empty() ? "What becomes of " + std::string(metric.words) + with + "?" : asked.ask;
        question["input"] = "choice";
        question["options"] = {{{"text", "clearly less"}, {"if", less}},
                               {{"text", "about the same"}, {"if", "not (" + less + ") and not (" + more + ")"}},
                               {{"text", "clearly more"}, {"if", more}}};
        return question;
    }
    const double value = writer.valueOf(answer);
    question["ask"] = asked.ask.empty() ? std::string(metric.asks) + with + "?" : asked.ask;
    question["answer"] = answer;
    if (!metric.unit.empty())
        question["unit"] = metric.unit;
    const bool isShare = metric.unit == "%";
    // What is on screen can be answered, too, by who thinks that nothing changes.
    const double largest = before.empty() ? value : std::max(value, writer.valueOf(before + "." + asked.metric));
    const auto range = isShare     ? (value > 0 && value < 1 ? std::optional(std::pair{0.0, 1.0}) : std::nullopt)
                       : value > 0 ? rangeAround(largest)
                                   : std::nullopt;
    question["input"] = range ? "slider" : "number";
    if (range)
        question["range"] = {range->first, range->second};
    question["tolerance"] = isShare ? LessonValue{{"absolute", 0.03}, {"relative", 0.1}} : LessonValue{{"relative", 0.15}};
    return question;
}

} // namespace

std::span<const RecordedMetric> recordedMetrics()
{
    return kRecordedMetrics;
}

std::string lessonIdOf(std::string_view title)
{
    constexpr std::size_t kLongest = 48;
    std::string id;
    for (const char c : title) {
        const bool isUpper = c >= 'A' && c <= 'Z';
        const bool isKept = isUpper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (isKept && id.size() < kLongest)
            id += isUpper ? static_cast<char>(c - 'A' + 'a') : c;
        else if (!isKept && !id.empty() && id.back() != '-')
            id += '-';
    }
    while (!id.empty() && id.back() == '-')
        id.pop_back();
    return id.empty() ? "lesson" : id;
}

LessonValue LessonRecording::file(const std::string& id, const Catalogue& catalogue) const
{
    if (steps.empty())
        throw Error("nothing is recorded yet: put the window as it should be and add a step");
    if (title.empty())
        throw Error("the lesson has no title yet");
    LessonWriter writer(catalogue);
    LessonValue written = LessonValue::array();
    std::string before;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const RecordedLessonStep& step = steps[i];
        const auto named = [&](const Error& error) { return Error("step " + std::to_string(i + 1) + ": " + error.what()); };
        try {
            const std::string shown = writer.caseOf(step.shown);
            LessonValue entry = LessonValue::object();
            if (step.question) {
                written.push_back({{"predict", questionOf(*step.question, "q" + std::to_string(i + 1), shown, before, writer)}});
                LessonValue reveal{{"show", shown}};
                if (!before.empty() && before != shown)
                    reveal["compare"] = before;
                entry["reveal"] = std::move(reveal);
            } else {
                entry["show"] = shown;
            }
            if (!step.say.empty())
                entry["say"] = step.say;
            if (!step.notes.empty())
                entry["notes"] = step.notes;
            if (!step.view.is_null() && !step.view.empty())
                entry["view"] = step.view;
            written.push_back(std::move(entry));
            before = shown;
        } catch (const ScenarioError& error) {
            throw named(Error(error.what()));
        } catch (const Error& error) {
            throw named(error);
        }
    }
    LessonValue lesson{{"format", "rankscope-lesson"}, {"version", 1}, {"id", id}, {"title", title}};
    if (!breaks.empty())
        lesson["breaks"] = breaks;
    lesson["cases"] = writer.cases();
    lesson["steps"] = std::move(written);
    return lesson;
}

std::vector<std::string> LessonRecording::problems(const Catalogue& catalogue) const
{
    LessonRecording named = *this;
    if (named.title.empty())
        named.title = "Untitled";
    std::vector<std::string> told;
    try {
        const std::string text = named.file("untitled", catalogue).dump();
        std::vector<Problem> problems;
        try {
            problems = checkLesson(parseLesson(text, {}, catalogue), catalogue);
        } catch (const ScenarioError& error) {
            problems = error.problems();
        }
        for (const Problem& problem : problems)
            told.push_back(inRecordedWords(problem));
    } catch (const Error& error) {
        told.emplace_back(error.what());
    }
    return told;
}

std::string LessonRecording::inRecordedWords(const Problem& problem) const
{
    constexpr std::string_view kSteps = "/steps/";
    if (!problem.pointer.starts_with(kSteps))
        return problem.text();
    const std::string rest = problem.pointer.substr(kSteps.size());
    std::size_t inFile = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), inFile);
    if (error != std::errc())
        return problem.text();
    std::string part(end, rest.data() + rest.size());
    for (char& c : part)
        c = c == '/' ? ' ' : c;
    std::size_t number = 0;
    for (std::size_t written = 0; number < steps.size() && written <= inFile; ++number)
        written += steps[number].question ? 2 : 1;
    return "step " + std::to_string(number) + (part.empty() ? "" : "," + part) + ": " + problem.message;
}

} // namespace sim
