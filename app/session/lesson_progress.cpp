#include "app/session/lesson_progress.h"

#include "sim/scenario/files.h"
#include "sim/scenario/json_text.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLockFile>
#include <QRandomGenerator>
#include <QStandardPaths>

#include <algorithm>
#include <array>

namespace app {
namespace {

using sim::LessonValue;
using sim::memberOf;
using sim::memberOr;

constexpr std::array kDaysUntilAsked{1, 3, 8}; // Execute Program's and Anki's first steps, facts of spaced practice
constexpr std::size_t kLargestFile = 16U << 20U;

/// Nothing where it cannot be read.
std::optional<LessonValue> progressIn(const QString& path)
{
    try {
        LessonValue all = sim::parseStrict(sim::readFile(path.toStdString(), kLargestFile), path.toStdString());
        return all.is_object() ? std::optional(std::move(all)) : std::nullopt;
    } catch (const sim::Error&) {
        return std::nullopt;
    }
}

/// Of a challenge, whose answers alone are objects. Files of before this was written down have it as one that was not right.
bool wasSolutionShown(const LessonValue& answer)
{
    return memberOr(answer, "solution_shown", answer.at("value").is_object() && !memberOr(answer, "right", true));
}

/// As commit() wrote it; nullptr where it is something else.
const LessonValue* answerIn(const LessonValue& entry, const std::string& question)
{
    const LessonValue* answers = memberOf(entry, "answers");
    const LessonValue* found = answers != nullptr ? memberOf(*answers, question) : nullptr;
    return found != nullptr && found->is_object() && found->contains("value") ? found : nullptr;
}

/// An object, whatever stood there; good until another member is added beside it.
LessonValue& part(LessonValue& of, const std::string& key)
{
    LessonValue& member = of[key];
    if (!member.is_object())
        member = LessonValue::object();
    return member;
}

/// What cannot be read is not written over either.
void setUnreadAside(const QString& path)
{
    QFile::remove(path + QStringLiteral(".unread"));
    QFile::rename(path, path + QStringLiteral(".unread"));
}

} // namespace

LessonProgress::LessonProgress(QString path, std::filesystem::path course) : m_path(std::move(path)), m_course(std::move(course))
{
    if (m_path.isEmpty() || !QFileInfo::exists(m_path))
        return;
    if (auto all = progressIn(m_path)) {
        m_all = std::move(*all);
    } else {
        setUnreadAside(m_path);
    }
}

QString LessonProgress::usualPath()
{
    return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + QStringLiteral("/rankscope/lessons.json");
}

LessonProgress::Key LessonProgress::keyOf(const sim::Lesson& lesson) const
{
    std::error_code unknown;
    const QFileInfo file(QString::fromStdString(lesson.fileName));
    if (lesson.fileName.empty() || std::filesystem::equivalent(file.absolutePath().toStdString(), m_course, unknown))
        return {lesson.id, {}};
    const bool isOfCourse = std::filesystem::exists(m_course / (lesson.id + ".json"), unknown);
    return {QDir::cleanPath(file.absoluteFilePath()).toStdString(), isOfCourse ? std::string() : lesson.id};
}

LessonValue& LessonProgress::of(LessonValue& all, const Key& key)
{
    if (!key.before.empty() && !all.contains(key.now) && all.contains(key.before)) {
        LessonValue entry = all[key.before];
        all.erase(key.before);
        all[key.now] = std::move(entry);
    }
    return part(all, key.now);
}

const LessonValue* LessonProgress::find(const sim::Lesson& lesson) const
{
    const Key key = keyOf(lesson);
    const LessonValue* entry = memberOf(m_all, key.now);
    return entry != nullptr || key.before.empty() ? entry : memberOf(m_all, key.before);
}

bool LessonProgress::update(const Change& change)
{
    if (m_path.isEmpty()) {
        change(m_all);
        return true;
    }
    m_unwritten.push_back(change);
    constexpr int kMostMs = 2000;
    QDir().mkpath(QFileInfo(m_path).path());
    QLockFile lock(m_path + QStringLiteral(".lock"));
    const bool isLocked = lock.tryLock(kMostMs);
    if (auto all = isLocked && QFileInfo::exists(m_path) ? progressIn(m_path) : std::nullopt) {
        m_all = std::move(*all);
        for (const Change& each : m_unwritten)
            each(m_all);
    } else {
        if (isLocked && QFileInfo::exists(m_path)) // broken since it was read
            setUnreadAside(m_path);
        change(m_all);
    }
    try {
        if (isLocked) {
            sim::replaceFile(m_path.toStdString(), sim::prettyText(m_all));
            m_unwritten.clear();
        }
        return isLocked;
    } catch (const sim::Error&) {
        return false;
    }
}

std::optional<CommittedAnswer> LessonProgress::answer(const sim::Lesson& lesson, const std::string& question) const
{
    const LessonValue* entry = find(lesson);
    const LessonValue* found = entry != nullptr ? answerIn(*entry, question) : nullptr;
    if (found == nullptr)
        return std::nullopt;
    CommittedAnswer out{.value = found->at("value"),
                        .isRight = memberOr(*found, "right", false),
                        .sure = {},
                        .seconds = memberOr(*found, "seconds", 0.0),
                        .isSolutionShown = wasSolutionShown(*found)};
    if (const LessonValue* sure = memberOf(*found, "sure"); sure != nullptr && sure->is_number())
        out.sure = sure->get<double>();
    return out;
}

bool LessonProgress::commit(const sim::Lesson& lesson, const std::string& question, const CommittedAnswer& answer)
{
    if (this->answer(lesson, question))
        return true;
    LessonValue entry{{"value", answer.value}, {"right", answer.isRight}, {"seconds", answer.seconds}};
    if (answer.sure)
        entry["sure"] = *answer.sure;
    if (answer.isSolutionShown)
        entry["solution_shown"] = true;
    return update([=, key = keyOf(lesson)](LessonValue& all) {
        part(of(all, key), "open").erase(question);
        LessonValue& answers = part(of(all, key), "answers");
        if (!answers.contains(question)) // in another window
            answers[question] = entry;
    });
}

void LessonProgress::withdraw(const sim::Lesson& lesson, const std::string& question)
{
    if (answer(lesson, question))
        update([=, key = keyOf(lesson)](LessonValue& all) { part(of(all, key), "answers").erase(question); });
}

OpenQuestion LessonProgress::open(const sim::Lesson& lesson, const std::string& question) const
{
    const LessonValue* entry = find(lesson);
    const LessonValue* all = entry != nullptr ? memberOf(*entry, "open") : nullptr;
    const LessonValue* found = all != nullptr ? memberOf(*all, question) : nullptr;
    if (found == nullptr)
        return {};
    return {.seconds = memberOr(*found, "seconds", 0.0),
            .hints = memberOr<std::size_t>(*found, "hints", 0),
            .isSolutionShown = memberOr(*found, "solution_shown", false)};
}

void LessonProgress::keepOpen(const sim::Lesson& lesson, const std::string& question, const OpenQuestion& open)
{
    const LessonValue kept{{"seconds", open.seconds}, {"hints", open.hints}, {"solution_shown", open.isSolutionShown}};
    update([=, key = keyOf(lesson)](LessonValue& all) { part(part(of(all, key), "open"), question) = kept; });
}

std::size_t LessonProgress::step(const sim::Lesson& lesson) const
{
    const LessonValue* entry = find(lesson);
    return entry != nullptr ? memberOr<std::size_t>(*entry, "step", 0) : 0;
}

void LessonProgress::setStep(const sim::Lesson& lesson, std::size_t step)
{
    update([=, key = keyOf(lesson)](LessonValue& all) { of(all, key)["step"] = step; });
}

void LessonProgress::finish(const sim::Lesson& lesson, const QDateTime& now)
{
    update([=, key = keyOf(lesson)](LessonValue& all) {
        LessonValue& entry = of(all, key);
        if (!entry.contains("finished"))
            entry["finished"] = now.toUTC().toString(Qt::ISODate).toStdString();
    });
}

bool LessonProgress::isFinished(const sim::Lesson& lesson) const
{
    const LessonValue* entry = find(lesson);
    return entry != nullptr && entry->is_object() && entry->contains("finished");
}

double LessonProgress::share(const sim::Lesson& lesson) const
{
    std::vector<std::string> ids;
    for (const sim::Question* question : lesson.questions())
        ids.push_back(question->id);
    for (const sim::Challenge* challenge : lesson.challenges())
        ids.push_back(challenge->id);
    if (ids.empty())
        return isFinished(lesson) ? 1 : 0;
    const auto done =
        std::count_if(ids.begin(), ids.end(), [&](const std::string& id) { return answer(lesson, id).has_value(); });
    return static_cast<double>(done) / static_cast<double>(ids.size());
}

std::uint64_t LessonProgress::seed(const sim::Lesson& lesson)
{
    if (const LessonValue* entry = find(lesson); entry == nullptr || !entry->is_object() || !entry->contains("seed"))
        update([=, key = keyOf(lesson),
                drawn = m_path.isEmpty() ? 1U : QRandomGenerator::global()->bounded(1U, 1U << 31U)](LessonValue& all) {
            LessonValue& fresh = of(all, key);
            if (!fresh.contains("seed"))
                fresh["seed"] = drawn;
        });
    return memberOr<std::uint64_t>(*find(lesson), "seed", 1);
}

void LessonProgress::forget(const sim::Lesson& lesson)
{
    update([=, key = keyOf(lesson)](LessonValue& all) {
        of(all, key);
        all.erase(key.now);
    });
}

std::vector<std::string> LessonProgress::due(const sim::Lesson& lesson, const QDateTime& now) const
{
    std::vector<std::string> out;
    const LessonValue* entry = find(lesson);
    if (entry == nullptr || !isFinished(lesson))
        return out;
    const LessonValue* asked = memberOf(*entry, "remember");
    for (const sim::Question& question : lesson.remember) {
        const LessonValue* last = asked != nullptr ? memberOf(*asked, question.id) : nullptr;
        const auto times = last != nullptr ? memberOr<std::size_t>(*last, "times", 0) : 0;
        if (times >= kDaysUntilAsked.size())
            continue; // it has been remembered long enough
        const auto since = QDateTime::fromString(QString::fromStdString(memberOr<std::string>(
                                                     last != nullptr ? *last : *entry, last != nullptr ? "at" : "finished", {})),
                                                 Qt::ISODate);
        if (!since.isValid() || since.toLocalTime().daysTo(now.toLocalTime()) >= kDaysUntilAsked[times])
            out.push_back(question.id);
    }
    return out;
}

bool LessonProgress::remembered(const sim::Lesson& lesson, const std::string& question, bool wasRight,
                                const sim::DrawnNumbers& numbers, const QDateTime& now)
{
    LessonValue asked = LessonValue::object();
    for (const auto& [name, value] : numbers)
        asked[name] = value;
    return update([=, key = keyOf(lesson)](LessonValue& all) {
        LessonValue& questions = part(of(all, key), "remember");
        const LessonValue* last = memberOf(questions, question);
        const auto times = last != nullptr ? memberOr<std::size_t>(*last, "times", 0) : 0;
        questions[question] = {
            {"times", wasRight ? times + 1 : 0}, {"numbers", asked}, {"at", now.toUTC().toString(Qt::ISODate).toStdString()}};
    });
}

sim::Question LessonProgress::withOtherNumbers(const sim::Lesson& lesson, sim::Question question) const
{
    const LessonValue* at = find(lesson);
    for (const std::string& key : {std::string("remember"), question.id, std::string("numbers")})
        at = at != nullptr ? memberOf(*at, key) : nullptr;
    for (auto& [name, values] : question.vary) {
        const LessonValue* was = at != nullptr ? memberOf(*at, name) : nullptr;
        std::vector<double> others = values;
        if (was != nullptr && was->is_number() && std::erase(others, was->get<double>()) > 0 && !others.empty()) {
            values = std::move(others);
            break; // one other number makes other numbers
        }
    }
    return question;
}

sim::LessonValue LessonProgress::answers(const sim::Lesson& lesson) const
{
    LessonValue out{{"format", "rankscope-answers"}, {"version", 1}, {"lesson", lesson.id}};
    LessonValue given = LessonValue::object();
    if (const LessonValue* entry = find(lesson)) {
        if (const LessonValue* seed = memberOf(*entry, "seed"))
            out["seed"] = *seed;
        if (const LessonValue* answers = memberOf(*entry, "answers"))
            for (const auto& [id, unused] : answers->items()) {
                const LessonValue* answer = answerIn(*entry, id);
                if (answer == nullptr)
                    continue;
                LessonValue one{{"value", answer->at("value")}};
                for (const char* key : {"sure", "seconds"})
                    if (const LessonValue* said = memberOf(*answer, key))
                        one[key] = *said;
                if (wasSolutionShown(*answer))
                    one["solution_shown"] = true;
                given[id] = std::move(one);
            }
    }
    out["answers"] = std::move(given);
    return out;
}

} // namespace app
