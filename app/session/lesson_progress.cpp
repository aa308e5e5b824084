#include "app/session/lesson_progress.h"

#include "sim/scenario/files.h"
#include "sim/scenario/json_text.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
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

} // namespace

LessonProgress::LessonProgress(QString path) : m_path(std::move(path))
{
    if (m_path.isEmpty() || !QFileInfo::exists(m_path))
        return;
    try {
        LessonValue all = sim::parseStrict(sim::readFile(m_path.toStdString(), kLargestFile), m_path.toStdString());
        if (!all.is_object())
            throw sim::Error("no object");
        m_all = std::move(all);
    } catch (const sim::Error&) {
        QFile::remove(m_path + QStringLiteral(".unread"));
        QFile::rename(m_path, m_path + QStringLiteral(".unread"));
    }
}

QString LessonProgress::usualPath()
{
    return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + QStringLiteral("/rankscope/lessons.json");
}

LessonValue& LessonProgress::of(const std::string& lesson)
{
    LessonValue& entry = m_all[lesson];
    if (!entry.is_object())
        entry = LessonValue::object();
    return entry;
}

const LessonValue* LessonProgress::find(const std::string& lesson) const
{
    return memberOf(m_all, lesson);
}

bool LessonProgress::write() const
{
    if (m_path.isEmpty())
        return true;
    try {
        QDir().mkpath(QFileInfo(m_path).path());
        sim::replaceFile(m_path.toStdString(), sim::prettyText(m_all));
        return true;
    } catch (const sim::Error&) {
        return false;
    }
}

std::optional<CommittedAnswer> LessonProgress::answer(const std::string& lesson, const std::string& question) const
{
    const LessonValue* entry = find(lesson);
    const LessonValue* answers = entry != nullptr ? memberOf(*entry, "answers") : nullptr;
    const LessonValue* found = answers != nullptr ? memberOf(*answers, question) : nullptr;
    if (found == nullptr || !found->is_object() || !found->contains("value"))
        return std::nullopt;
    CommittedAnswer out{.value = found->at("value"),
                        .isRight = memberOr(*found, "right", false),
                        .sure = {},
                        .seconds = memberOr(*found, "seconds", 0.0)};
    if (const LessonValue* sure = memberOf(*found, "sure"); sure != nullptr && sure->is_number())
        out.sure = sure->get<double>();
    return out;
}

bool LessonProgress::commit(const std::string& lesson, const std::string& question, const CommittedAnswer& answer)
{
    if (this->answer(lesson, question))
        return true;
    LessonValue entry{{"value", answer.value}, {"right", answer.isRight}, {"seconds", answer.seconds}};
    if (answer.sure)
        entry["sure"] = *answer.sure;
    LessonValue& answers = of(lesson)["answers"];
    if (!answers.is_object())
        answers = LessonValue::object();
    answers[question] = std::move(entry);
    return write();
}

std::size_t LessonProgress::step(const std::string& lesson) const
{
    const LessonValue* entry = find(lesson);
    return entry != nullptr ? memberOr<std::size_t>(*entry, "step", 0) : 0;
}

void LessonProgress::setStep(const std::string& lesson, std::size_t step)
{
    of(lesson)["step"] = step;
    write();
}

void LessonProgress::finish(const std::string& lesson, const QDateTime& now)
{
    LessonValue& entry = of(lesson);
    if (!entry.contains("finished"))
        entry["finished"] = now.toUTC().toString(Qt::ISODate).toStdString();
    write();
}

bool LessonProgress::isFinished(const std::string& lesson) const
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
        return isFinished(lesson.id) ? 1 : 0;
    const auto done =
        std::count_if(ids.begin(), ids.end(), [&](const std::string& id) { return answer(lesson.id, id).has_value(); });
    return static_cast<double>(done) / static_cast<double>(ids.size());
}

std::uint64_t LessonProgress::seed(const std::string& lesson)
{
    LessonValue& entry = of(lesson);
    if (!entry.contains("seed")) {
        entry["seed"] = m_path.isEmpty() ? 1U : QRandomGenerator::global()->bounded(1U, 1U << 31U);
        write();
    }
    return memberOr<std::uint64_t>(entry, "seed", 1);
}

void LessonProgress::forget(const std::string& lesson)
{
    m_all.erase(lesson);
    write();
}

std::vector<std::string> LessonProgress::due(const sim::Lesson& lesson, const QDateTime& now) const
{
    std::vector<std::string> out;
    const LessonValue* entry = find(lesson.id);
    if (entry == nullptr || !isFinished(lesson.id))
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

void LessonProgress::remembered(const std::string& lesson, const std::string& question, bool wasRight, const QDateTime& now)
{
    LessonValue& asked = of(lesson)["remember"];
    if (!asked.is_object())
        asked = LessonValue::object();
    const LessonValue* last = memberOf(asked, question);
    const auto times = last != nullptr ? memberOr<std::size_t>(*last, "times", 0) : 0;
    asked[question] = {{"times", wasRight ? times + 1 : 0}, {"at", now.toUTC().toString(Qt::ISODate).toStdString()}};
    write();
}

sim::LessonValue LessonProgress::answers(const std::string& lesson) const
{
    LessonValue out{{"format", "rankscope-answers"}, {"version", 1}, {"lesson", lesson}};
    LessonValue given = LessonValue::object();
    if (const LessonValue* entry = find(lesson)) {
        if (const LessonValue* seed = memberOf(*entry, "seed"))
            out["seed"] = *seed;
        if (const LessonValue* answers = memberOf(*entry, "answers"))
            for (const auto& [id, answer] : answers->items()) {
                LessonValue one{{"value", *memberOf(answer, "value")}};
                for (const char* key : {"sure", "seconds"})
                    if (const LessonValue* said = memberOf(answer, key))
                        one[key] = *said;
                given[id] = std::move(one);
            }
    }
    out["answers"] = std::move(given);
    return out;
}

} // namespace app
