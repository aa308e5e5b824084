#include "sim/lesson/lesson.h"

#include "sim/scenario/json_text.h"
#include "sim/scenario/problem_list.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/unforeseen.h"
#include "sim/text/characters.h"
#include "sim/text/nearest.h"

#include <algorithm>
#include <array>
#include <set>

namespace sim {
namespace {

constexpr std::size_t kMostLessonBytes = 1U << 20U; // of text somebody wrote; scenarios with long actions lie beside it
constexpr std::array<std::string_view, 9> kInputNames = {"slider", "number", "choice",  "ranks", "tensor",
                                                         "order",  "bars",   "actions", "sketch"};

bool isId(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return startsName(c) || isDigit(c) || c == '-'; });
}

std::vector<std::string> wordsAt(const LessonValue& object, std::string_view key)
{
    return memberOr<std::vector<std::string>>(object, key, {});
}
std::string wordAt(const LessonValue& object, std::string_view key)
{
    return memberOr<std::string>(object, key, {});
}
const LessonValue& listAt(const LessonValue& object, std::string_view key)
{
    static const LessonValue kNothing = LessonValue::array();
    const LessonValue* found = memberOf(object, key);
    return found != nullptr ? *found : kNothing;
}

/// Takes a value of the schema's shape apart and says what the schema cannot: ids, expressions, what an input needs.
class LessonReader {
public:
    explicit LessonReader(std::string fileName) : m_fileName(std::move(fileName)) {}

    Lesson read(const LessonValue& root)
    {
        Lesson lesson;
        lesson.fileName = m_fileName;
        lesson.id = wordAt(root, "id");
        if (!isId(lesson.id))
            report("/id", "an id has letters, digits, - and _");
        lesson.title = wordAt(root, "title");
        lesson.breaks = wordAt(root, "breaks");
        lesson.source = wordAt(root, "source");
        lesson.minutes = memberOr(root, "minutes", 0.0);
        lesson.number = memberOr(root, "number", 0);
        lesson.after = wordsAt(root, "after");
        if (const LessonValue* cases = memberOf(root, "cases"))
            for (const auto& [name, given] : cases->items())
                lesson.cases.push_back({name, childPointer("/cases", name), given});
        lesson.holds = expressionsAt(root, "holds", "");
        for (std::size_t i = 0; i < listAt(root, "steps").size(); ++i)
            lesson.steps.push_back(step(root.at("steps")[i], "/steps/" + std::to_string(i)));
        for (std::size_t i = 0; i < listAt(root, "remember").size(); ++i)
            lesson.remember.push_back(question(root.at("remember")[i], "/remember/" + std::to_string(i)));
        if (const LessonValue* draws = memberOf(root, "draws"))
            lesson.draws = Lesson::Draws{.count = memberOr(*draws, "count", 1), .from = wordsAt(*draws, "from")};
        for (std::size_t i = 0; lesson.draws && i < lesson.draws->from.size(); ++i) {
            const auto& from = lesson.draws->from;
            if (!isId(from[i]) || from[i] == lesson.id ||
                std::find(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(i), from[i]) !=
                    from.begin() + static_cast<std::ptrdiff_t>(i))
                report("/draws/from/" + std::to_string(i), "the id of another lesson beside this file is expected, each once");
        }
        return lesson;
    }

    std::vector<Problem> takeProblems() { return std::move(m_problems).take(m_fileName); }

private:
    void report(const std::string& pointer, std::string message) { m_problems.add({m_fileName, pointer, std::move(message)}); }

    void mustRead(const std::string& text, const std::string& pointer)
    {
        try {
            Expression::parse(text);
        } catch (const Error& error) {
            report(pointer, error.what());
        }
    }
    std::string expressionAt(const LessonValue& object, std::string_view key, const std::string& pointer)
    {
        std::string text = wordAt(object, key);
        if (!text.empty())
            mustRead(text, childPointer(pointer, key));
        return text;
    }
    std::vector<std::string> expressionsAt(const LessonValue& object, std::string_view key, const std::string& pointer)
    {
        std::vector<std::string> all = wordsAt(object, key);
        for (std::size_t i = 0; i < all.size(); ++i)
            mustRead(all[i], childPointer(pointer, key) + "/" + std::to_string(i));
        return all;
    }

    /// Given, or made of the place: "predict-3".
    std::string idOf(const LessonValue& object, const std::string& pointer, const char* made)
    {
        std::string id = wordAt(object, "id");
        if (id.empty())
            id = made + std::to_string(++m_made[made]);
        if (!isId(id))
            report(pointer + "/id", "an id has letters, digits, - and _");
        else if (!m_ids.insert(id).second)
            report(pointer + "/id", "\"" + id + "\" is the id of another question");
        return id;
    }

    LessonStep step(const LessonValue& given, const std::string& pointer)
    {
        LessonStep out;
        out.pointer = pointer;
        out.say = wordAt(given, "say");
        out.show = wordAt(given, "show");
        out.compare = wordAt(given, "compare");
        out.notes = wordAt(given, "notes");
        out.play = memberOr(given, "play", false);
        out.isOnPaper = memberOr(given, "paper", false);
        if (const LessonValue* view = memberOf(given, "view"))
            out.view = *view;
        for (const LessonValue& point : listAt(given, "point"))
            out.points.push_back({.picture = wordAt(point, "picture"),
                                  .text = wordAt(point, "text"),
                                  .tensor = wordAt(point, "tensor"),
                                  .rank = memberOr(point, "rank", -1)});
        if (const LessonValue* chart = memberOf(given, "chart")) {
            out.chart.emplace().unit = wordAt(*chart, "unit");
            for (const LessonValue& bar : listAt(*chart, "bars"))
                out.chart->bars.push_back({wordAt(bar, "text"), wordAt(bar, "value")});
            if (memberOf(given, "predict") != nullptr)
                report(pointer + "/chart", "a chart tells its numbers: it stands in a step that asks nothing");
            for (const QuestionPart& bar : out.chart->bars)
                mustRead(bar.value, pointer + "/chart");
        }
        if (const LessonValue* asked = memberOf(given, "predict"))
            out.predict = question(*asked, pointer + "/predict");
        if (const LessonValue* reveal = memberOf(given, "reveal"))
            out.reveal = LessonReveal{.show = wordAt(*reveal, "show"),
                                      .compare = wordAt(*reveal, "compare"),
                                      .say = wordAt(*reveal, "say"),
                                      .play = memberOr(*reveal, "play", false)};
        if (const LessonValue* goal = memberOf(given, "challenge"))
            out.challenge = challenge(*goal, pointer + "/challenge");
        const int doing = static_cast<int>(out.predict.has_value()) + static_cast<int>(out.challenge.has_value());
        if (doing > 1)
            report(pointer, "a step has one predict or one challenge; make two steps of it");
        else if (doing == 0 && out.say.empty() && out.points.empty() && !out.reveal)
            report(pointer, "a step says, points, asks, reveals or sets a challenge");
        return out;
    }

    Question question(const LessonValue& given, const std::string& pointer)
    {
        Question out;
        out.pointer = pointer;
        out.id = idOf(given, pointer, pointer.starts_with("/remember") ? "remember-" : "predict-");
        out.ask = wordAt(given, "ask");
        out.unit = wordAt(given, "unit");
        out.on = wordAt(given, "on");
        out.because = wordAt(given, "because");
        const auto input = std::find(kInputNames.begin(), kInputNames.end(), wordAt(given, "input"));
        out.input = static_cast<QuestionInput>(input - kInputNames.begin());
        variables(out, given, pointer);
        for (const LessonValue& end : listAt(given, "range"))
            out.range.push_back(end.is_string() ? end.get<std::string>() : end.dump());
        for (std::size_t i = 0; i < out.range.size(); ++i)
            mustRead(out.range[i], pointer + "/range/" + std::to_string(i));
        out.step = memberOr(given, "step", 0.0);
        out.answer = expressionAt(given, "answer", pointer);
        out.over = expressionAt(given, "over", pointer);
        out.along = wordAt(given, "along");
        if (const LessonValue* tolerance = memberOf(given, "tolerance"))
            out.tolerance =
                Tolerance{.relative = memberOr(*tolerance, "relative", 0.0), .absolute = memberOr(*tolerance, "absolute", 0.0)};
        out.many = memberOr(given, "many", false);
        out.sure = memberOr(given, "sure", false);
        const auto each = [&](const char* key, auto visit) {
            for (std::size_t i = 0; i < listAt(given, key).size(); ++i)
                visit(given.at(key)[i], pointer + "/" + key + "/" + std::to_string(i));
        };
        each("options", [&](const LessonValue& option, const std::string& at) {
            out.options.push_back({wordAt(option, "text"), expressionAt(option, "if", at), wordAt(option, "say")});
        });
        each("cards", [&](const LessonValue& card, const std::string& at) {
            out.parts.push_back({wordAt(card, "text"), expressionAt(card, "by", at)});
        });
        each("bars", [&](const LessonValue& bar, const std::string& at) {
            out.parts.push_back({wordAt(bar, "text"), expressionAt(bar, "answer", at)});
        });
        each("mistakes", [&](const LessonValue& mistake, const std::string& at) {
            out.mistakes.push_back({expressionAt(mistake, "near", at), wordAt(mistake, "say")});
        });
        out.goal = expressionsAt(given, "goal", pointer);
        for (const LessonValue& order : listAt(given, "solved_by"))
            out.solvedBy.push_back(valueAs<std::vector<std::string>>(order).value_or(std::vector<std::string>()));
        requireParts(out, given, pointer);
        return out;
    }

    void variables(Question& out, const LessonValue& given, const std::string& pointer)
    {
        constexpr std::size_t kMostVariables = 6, kMostValues = 32;
        const LessonValue* vary = memberOf(given, "vary");
        if (vary == nullptr)
            return;
        if (vary->size() > kMostVariables)
            report(pointer + "/vary", "up to " + std::to_string(kMostVariables) + " numbers may vary");
        for (const auto& [name, list] : vary->items()) {
            const auto values = valueAs<std::vector<double>>(list);
            if (!isExpressionName(name) || !values || values->empty() || values->size() > kMostValues)
                report(childPointer(pointer + "/vary", name),
                       "a name, and a list of 1 to " + std::to_string(kMostValues) + " numbers, of which one is drawn");
            else
                out.vary.emplace_back(name, *values);
        }
    }

    /// The keys that an input needs, and none that mean nothing to it.
    void requireParts(const Question& question, const LessonValue& given, const std::string& pointer)
    {
        struct Needs {
            std::vector<std::string_view> needed, possible;
        };
        static const std::array<Needs, kInputNames.size()> kNeeds = {
            Needs{{"answer", "range"}, {"step", "tolerance", "unit", "mistakes"}},
            Needs{{"answer"}, {"range", "step", "tolerance", "unit", "mistakes"}},
            Needs{{"options"}, {"many"}},
            Needs{{"answer", "on"}, {"mistakes"}},
            Needs{{"answer", "on"}, {"mistakes"}},
            Needs{{"cards"}, {}},
            Needs{{"bars", "range"}, {"step", "tolerance", "unit", "mistakes"}},
            Needs{{"on", "goal", "solved_by"}, {}},
            Needs{{"answer", "over", "range"}, {"tolerance", "unit", "mistakes", "along"}}};
        static constexpr std::array<std::string_view, 7> kOfAll = {"id", "ask", "input", "vary", "sure", "because", "on"};
        const Needs& needs = kNeeds.at(static_cast<std::size_t>(question.input));
        const std::string name(questionInputName(question.input));
        for (const std::string_view key : needs.needed)
            if (!given.contains(std::string(key)))
                report(pointer, "input \"" + name + "\" needs \"" + std::string(key) + "\"");
        const auto lists = [](const auto& keys, const std::string& key) {
            return std::find(keys.begin(), keys.end(), key) != keys.end();
        };
        for (const auto& [key, unused] : given.items())
            if (!lists(kOfAll, key) && !lists(needs.needed, key) && !lists(needs.possible, key))
                report(childPointer(pointer, key), "means nothing to input \"" + name + "\"");
    }

    Challenge challenge(const LessonValue& given, const std::string& pointer)
    {
        Challenge out;
        out.pointer = pointer;
        out.id = idOf(given, pointer, "challenge-");
        out.ask = wordAt(given, "ask");
        out.from = wordAt(given, "from");
        out.because = wordAt(given, "because");
        out.goal = expressionsAt(given, "goal", pointer);
        out.changes = memberOr(given, "changes", 1);
        out.allow = wordsAt(given, "allow");
        out.forbid = wordsAt(given, "forbid");
        out.hints = wordsAt(given, "hints");
        for (const LessonValue& solution : listAt(given, "solved_by"))
            out.solvedBy.push_back(solution);
        return out;
    }

    std::string m_fileName;
    std::set<std::string> m_ids;
    std::map<std::string, int> m_made;
    ProblemList m_problems;
};

} // namespace

std::string_view questionInputName(QuestionInput input)
{
    return kInputNames.at(static_cast<std::size_t>(input));
}

bool isExpressionName(std::string_view name)
{
    constexpr std::array<std::string_view, 5> kTaken = {"and", "or", "not", "true", "false"};
    return !name.empty() && startsName(name.front()) &&
           std::all_of(name.begin(), name.end(), [](char c) { return startsName(c) || isDigit(c); }) &&
           std::find(kTaken.begin(), kTaken.end(), name) == kTaken.end();
}

const std::string& shownBy(const LessonStep& step)
{
    if (step.challenge)
        return step.challenge->from;
    if (step.reveal && !step.reveal->show.empty())
        return step.reveal->show;
    if (step.predict && !step.predict->on.empty() && step.show.empty())
        return step.predict->on;
    return step.show;
}
std::vector<const Question*> Lesson::questions() const
{
    std::vector<const Question*> all;
    for (const LessonStep& step : steps)
        if (step.predict)
            all.push_back(&*step.predict);
    return all;
}

std::vector<const Challenge*> Lesson::challenges() const
{
    std::vector<const Challenge*> all;
    for (const LessonStep& step : steps)
        if (step.challenge)
            all.push_back(&*step.challenge);
    return all;
}

const Schema& lessonSchema(const Catalogue& catalogue)
{
    static const Schema schema(
        parseStrict(readFile(catalogue.assets() / "lesson.schema.json", kMostLessonBytes), "lesson.schema.json"));
    return schema;
}

Lesson parseLesson(std::string_view json, const std::string& fileName, const Catalogue& catalogue)
{
    if (json.size() > kMostLessonBytes)
        throw ScenarioError(
            {{fileName, "",
              "a lesson has at most " + std::to_string(kMostLessonBytes) + " bytes, not " + std::to_string(json.size())}});
    return readSafely(fileName, [&] {
        const LessonValue root = parseStrict(json, fileName);
        if (auto problems = lessonSchema(catalogue).check(root, fileName); !problems.empty())
            throw ScenarioError(std::move(problems));
        LessonReader reader(fileName);
        Lesson lesson = reader.read(root);
        if (auto problems = reader.takeProblems(); !problems.empty())
            throw ScenarioError(std::move(problems));
        return lesson;
    });
}

Lesson readLesson(const std::filesystem::path& path, const Catalogue& catalogue)
{
    return parseLesson(readNamedFile(path, kMostLessonBytes), path.string(), catalogue);
}

std::filesystem::path lessonFolder(const Catalogue& catalogue)
{
    return catalogue.assets() / "lessons";
}

std::vector<Lesson> readLessons(const std::filesystem::path& folder, const Catalogue& catalogue, std::vector<Problem>& unread)
{
    std::vector<Lesson> lessons;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
        if (entry.path().extension() != ".json")
            continue;
        try {
            lessons.push_back(readLesson(entry.path(), catalogue));
        } catch (const ScenarioError& error) {
            unread.insert(unread.end(), error.problems().begin(), error.problems().end());
        }
    }
    std::sort(lessons.begin(), lessons.end(), [](const Lesson& a, const Lesson& b) {
        const auto key = [](const Lesson& of) {
            return std::pair(of.number == 0, std::pair(of.number, std::string_view(of.id)));
        };
        return key(a) < key(b);
    });
    return lessons;
}

} // namespace sim
