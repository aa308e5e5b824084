#include "sim/lesson/results.h"

#include "sim/scenario/json_text.h"
#include "sim/text/csv_cell.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

namespace sim {
namespace {

constexpr std::array<std::string_view, 13> kResultColumns{"learner", "sheet",         "lesson", "seed",           "question",
                                                          "answer",  "engine",        "right",  "solution_shown", "sure",
                                                          "seconds", "scenario_hash", "version"};
enum ResultColumn : std::size_t {
    kLearner,
    kSheet, ///< a number: names may be missing, or the same
    kLesson,
    kSeed,
    kQuestion,
    kAnswer,
    kEngine,
    kRight,
    kSolutionShown, ///< "yes", which no spreadsheet writes otherwise; or empty
    kSure,
    kSeconds,
    kHash,
    kProgram
};
constexpr std::size_t kMostRows = 1'000'000;

/// Rows of cells as RFC 4180 has them, or with another separator.
std::vector<std::vector<std::string>> csvRows(std::string_view text, char separator, const std::string& fileName)
{
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row;
    std::string cell;
    bool isQuoted = false, wasQuoted = false;
    const auto endCell = [&] {
        if (wasQuoted && cell.size() > 1 && cell[0] == '\'' && wantsApostrophe(cell))
            cell.erase(0, 1);
        row.push_back(std::exchange(cell, {}));
        wasQuoted = false;
    };
    const auto endRow = [&] {
        endCell();
        if (row.size() > 1 || !row.front().empty())
            rows.push_back(std::move(row));
        row.clear();
        if (rows.size() > kMostRows)
            throw ScenarioError({{fileName, "", "more than " + std::to_string(kMostRows) + " rows"}});
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (isQuoted) {
            if (c != '"')
                cell += c;
            else if (i + 1 < text.size() && text[i + 1] == '"')
                cell += text[++i];
            else
                isQuoted = false;
        } else if (c == '"' && cell.empty()) {
            isQuoted = wasQuoted = true;
        } else if (c == separator) {
            endCell();
        } else if (c == '\n') {
            endRow();
        } else if (c != '\r') {
            cell += c;
        }
    }
    if (isQuoted)
        throw ScenarioError({{fileName, "", "a quoted cell is never closed"}});
    if (!cell.empty() || !row.empty())
        endRow();
    return rows;
}

std::string_view withoutMark(std::string_view text)
{
    constexpr std::string_view kMark = "\xEF\xBB\xBF"; // some spreadsheets begin with it
    return text.substr(0, kMark.size()) == kMark ? text.substr(kMark.size()) : text;
}

/// JSON of answers and of results is an object.
bool isTable(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos || (text[first] != '{' && text[first] != '[');
}

/// What a spreadsheet's language puts between cells: of what may, what the first line has most of.
char separatorOf(std::string_view table)
{
    const std::string_view head = table.substr(0, table.find('\n'));
    const auto countOf = [&](char c) { return std::count(head.begin(), head.end(), c); };
    constexpr std::string_view kSeparators = ",;\t";
    return *std::max_element(kSeparators.begin(), kSeparators.end(), [&](char a, char b) { return countOf(a) < countOf(b); });
}

/// "17,5", as languages have it that separate cells by something else than commas.
std::string withDecimalPoint(const std::string& cell)
{
    std::string pointed = cell;
    std::replace(pointed.begin(), pointed.end(), ',', '.');
    double number = 0;
    const auto [end, error] = std::from_chars(pointed.data(), pointed.data() + pointed.size(), number);
    return error == std::errc() && end == pointed.data() + pointed.size() ? pointed : cell;
}

/// The columns in any order, some left out.
std::vector<AnswerSheet> answersInTable(std::string_view text, const std::string& fileName)
{
    const char separator = separatorOf(text);
    const auto rows = csvRows(text, separator, fileName);
    const std::vector<std::string> head = rows.empty() ? std::vector<std::string>() : rows.front();
    std::array<std::size_t, kResultColumns.size()> at{};
    for (std::size_t i = 0; i < at.size(); ++i)
        at[i] = static_cast<std::size_t>(std::find(head.begin(), head.end(), kResultColumns[i]) - head.begin());
    for (const std::size_t needed : {kLesson, kQuestion, kAnswer})
        if (at[needed] == head.size())
            throw ScenarioError({{fileName, "",
                                  "as a table its first line has no column " + quotedText(kResultColumns[needed]) +
                                      "; answers as JSON begin with {"}});
    std::vector<AnswerSheet> all;
    std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t>
        sheets;                                   // of learner, sheet, lesson, seed
    std::vector<std::set<std::string>> questions; // of each sheet
    for (std::size_t r = 1; r < rows.size(); ++r) {
        const auto cell = [&](ResultColumn column) { return at[column] < rows[r].size() ? rows[r][at[column]] : std::string(); };
        const std::string where = "row " + std::to_string(r + 1);
        const auto value = [&](ResultColumn column) {
            const std::string given = separator == ',' ? cell(column) : withDecimalPoint(cell(column));
            return given.empty() ? LessonValue() : parseStrict(given, fileName + ", " + where);
        };
        const LessonValue seed = value(kSeed);
        const auto [place, isNew] = sheets.try_emplace({cell(kLearner), cell(kSheet), cell(kLesson), cell(kSeed)}, all.size());
        // A question that comes again is somebody else's: tables of several without a name were put together.
        if (isNew || questions[place->second].contains(cell(kQuestion))) {
            place->second = all.size();
            questions.emplace_back();
            all.push_back({{{"format", "rankscope-answers"},
                            {"version", 1},
                            {"lesson", cell(kLesson)},
                            {"learner", cell(kLearner)},
                            {"answers", LessonValue::object()}},
                           fileName,
                           {},
                           cell(kHash),
                           cell(kProgram)});
            if (!seed.is_null())
                all.back().answers["seed"] = seed;
        }
        questions[place->second].insert(cell(kQuestion));
        LessonValue& sheet = all[place->second].answers;
        const LessonValue answer = value(kAnswer);
        if (answer.is_null())
            continue;
        LessonValue entry{{"value", answer}};
        if (const LessonValue sure = value(kSure); sure.is_number())
            entry["sure"] = sure;
        if (const LessonValue seconds = value(kSeconds); seconds.is_number())
            entry["seconds"] = seconds;
        if (!cell(kSolutionShown).empty())
            entry["solution_shown"] = true;
        sheet["answers"][cell(kQuestion)] = std::move(entry);
    }
    return all;
}

} // namespace

std::string scenarioHash(const Paper& paper)
{
    std::uint64_t hash = 0xcbf29ce484222325ULL; // Fowler, Noll, Vo
    const auto add = [&](std::string_view text) {
        for (const char c : text)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        hash = (hash ^ 0xFFU) * 0x100000001b3ULL; // so that "a","bc" is not "ab","c"
    };
    const auto addDocument = [&](const ScenarioDocument& document) { add(LessonValue::parse(document.text()).dump()); };
    for (const auto& source : paper.sources())
        for (const CaseDefinition& definition : source->lesson.cases) {
            const Cases& cases = source->cases.all();
            add(definition.name);
            const CaseSubject* subject = cases.subject(definition.name);
            if (subject == nullptr) { // made anew for every asking, maybe of a file
                add(definition.given.dump());
                if (const auto name = memberOr<std::string>(definition.given, "scenario", {}); !name.empty())
                    addDocument(namedScenario(name, source->lesson.fileName, definition.pointer, cases.catalogue()));
            } else if (const auto* document = std::get_if<ScenarioDocument>(subject)) {
                addDocument(*document);
            } else {
                add(std::get<LessonValue>(*subject).dump());
            }
        }
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

LessonValue resultsOf(const Paper& paper, const std::vector<AnswerSheet>& answers, std::string_view program)
{
    LessonValue learners = LessonValue::array();
    for (const AnswerSheet& sheet : answers) {
        LessonValue marked = paper.mark(sheet.answers, sheet.fileName, sheet.pointer);
        LessonValue given = LessonValue::object();
        for (const LessonValue& mark : marked.at("marks")) {
            if (mark.at("given").is_null())
                continue;
            LessonValue entry{{"value", mark.at("given")}};
            for (const char* key : {"sure", "seconds", "solution_shown"})
                if (mark.contains(key))
                    entry[key] = mark.at(key);
            given[mark.at("id").get<std::string>()] = std::move(entry);
        }
        LessonValue learner{{"learner", marked.at("learner")},
                            {"right", marked.at("right")},
                            {"of", marked.at("of")},
                            {"answers", std::move(given)},
                            {"marks", std::move(marked.at("marks"))}};
        if (marked.contains("problems"))
            learner["problems"] = std::move(marked.at("problems"));
        learners.push_back(std::move(learner));
    }
    return {{"format", "rankscope-results"},
            {"version", 1},
            {"lesson", paper.lesson().id},
            {"title", paper.lesson().title},
            {"seed", paper.seed()},
            {"program", program},
            {"scenario_hash", scenarioHash(paper)},
            {"learners", std::move(learners)}};
}

std::string resultsCsv(const std::vector<LessonValue>& papers)
{
    std::string text;
    for (std::size_t i = 0; i < kResultColumns.size(); ++i)
        text += (i == 0 ? "" : ",") + std::string(kResultColumns[i]);
    text += "\n";
    const auto json = [](const LessonValue& object, const char* key) {
        const LessonValue* value = memberOf(object, key);
        return value == nullptr || value->is_null() ? std::string() : value->dump();
    };
    std::size_t sheet = 0;
    for (const LessonValue& results : papers)
        for (const LessonValue& learner : results.at("learners")) {
            ++sheet;
            for (const LessonValue& mark : learner.at("marks")) {
                std::array<std::string, kResultColumns.size()> cells;
                cells[kLearner] = learner.at("learner").get<std::string>();
                cells[kSheet] = std::to_string(sheet);
                cells[kLesson] = results.at("lesson").get<std::string>();
                cells[kSeed] = json(results, "seed");
                cells[kQuestion] = mark.at("id").get<std::string>();
                cells[kAnswer] = json(mark, "given");
                cells[kEngine] = json(mark, "answer");
                cells[kRight] = json(mark, "right");
                cells[kSolutionShown] = mark.contains("solution_shown") ? "yes" : "";
                cells[kSure] = json(mark, "sure");
                cells[kSeconds] = json(mark, "seconds");
                cells[kHash] = results.at("scenario_hash").get<std::string>();
                cells[kProgram] = results.at("program").get<std::string>();
                for (std::size_t i = 0; i < cells.size(); ++i)
                    text += (i == 0 ? "" : ",") + guardedCsvCell(cells[i]);
                text += "\n";
            }
        }
    return text;
}

std::vector<AnswerSheet> answersIn(std::string_view text, const std::string& fileName)
{
    const auto refuse = [&](const std::string& message) { throw ScenarioError({{fileName, "", message}}); };
    std::vector<AnswerSheet> all;
    text = withoutMark(text);
    if (isTable(text)) {
        if (!isUtf8(text))
            refuse("it is a table, but not as UTF-8: save it as CSV with that encoding");
        all = answersInTable(text, fileName);
    } else {
        const LessonValue file = parseStrict(text, fileName);
        if (memberOr<std::string>(file, "format", {}) != "rankscope-results")
            return {{file, fileName}}; // Paper::mark says what is wrong with it
        const LessonValue* learners = memberOf(file, "learners");
        if (memberOr(file, "version", 0) != 1 || learners == nullptr || !learners->is_array())
            refuse(R"(results are { "format": "rankscope-results", "version": 1, "learners": [ … ] })");
        const auto hash = memberOr<std::string>(file, "scenario_hash", {}), program = memberOr<std::string>(file, "program", {});
        for (const LessonValue& learner : *learners) {
            LessonValue sheet{{"format", "rankscope-answers"}, {"version", 1}};
            for (const char* key : {"lesson", "seed"})
                if (const LessonValue* value = memberOf(file, key))
                    sheet[key] = *value;
            for (const char* key : {"learner", "answers"})
                if (const LessonValue* value = memberOf(learner, key))
                    sheet[key] = *value;
            all.push_back({std::move(sheet), fileName, "/learners/" + std::to_string(all.size()), hash, program});
        }
    }
    if (all.empty())
        refuse("it holds no learner's answers");
    return all;
}

std::string changedSince(const AnswerSheet& sheet, const std::string& hashNow, std::string_view programNow)
{
    std::string changed;
    if (!sheet.program.empty() && sheet.program != programNow)
        changed = "marked by version " + shownText(sheet.program) + ", now by " + std::string(programNow);
    if (!sheet.scenarioHash.empty() && sheet.scenarioHash != hashNow)
        changed +=
            (changed.empty() ? "" : "; ") + ("marked with scenarios " + shownText(sheet.scenarioHash) + ", now with " + hashNow);
    return changed;
}

} // namespace sim
