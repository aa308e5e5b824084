#include "app/lessons/goal_text.h"

#include "app/session/scenario_keys.h"
#include "app/shell/widgets/format.h"
#include "sim/lesson/live_text.h"

#include <QObject>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <optional>

namespace app {
namespace {

/// A number that goals are about, and how it is written.
struct GoalSubject {
    const char* pattern; ///< of its name behind `mine.`
    const char* words;
    const char* format; ///< of live text
};
constexpr std::array kGoalSubjects{
    GoalSubject{"peak_memory_gib", QT_TRANSLATE_NOOP("QObject", "the peak memory is %1"), "gib"},
    GoalSubject{"mfu", QT_TRANSLATE_NOOP("QObject", "the MFU is %1"), "percent"},
    GoalSubject{"step_time_s", QT_TRANSLATE_NOOP("QObject", "the step time is %1"), "s"},
    GoalSubject{"bubble_fraction", QT_TRANSLATE_NOOP("QObject", "the bubble is %1 of the step"), "percent"},
    GoalSubject{"exposed_comm_fraction\\.\\w+", QT_TRANSLATE_NOOP("QObject", "the exposed communication is %1 of the step"),
                "percent"},
    GoalSubject{"traffic\\.total", QT_TRANSLATE_NOOP("QObject", "what a step sends is %1"), "gb"},
    GoalSubject{"world_size", QT_TRANSLATE_NOOP("QObject", "the number of GPUs is %1"), "whole"},
    GoalSubject{"describe\\.layout\\.(?:tp|cp|pp|dp|ep)", QT_TRANSLATE_NOOP("QObject", "%2 is %1"), "whole"},
    GoalSubject{"describe\\.training\\.global_batch_size", QT_TRANSLATE_NOOP("QObject", "the global batch size is %1"), "whole"},
    GoalSubject{"describe\\.training\\.sequence_length", QT_TRANSLATE_NOOP("QObject", "the sequence length is %1"), "whole"},
};

const GoalSubject* subjectOf(const QString& number)
{
    const auto found = std::ranges::find_if(kGoalSubjects, [&](const GoalSubject& subject) {
        return QRegularExpression(QStringLiteral("^(?:%1)$").arg(QString::fromUtf8(subject.pattern))).match(number).hasMatch();
    });
    return found == kGoalSubjects.end() ? nullptr : &*found;
}

/// With a place for its value.
QString wordsOf(const GoalSubject& subject, const QString& number)
{
    return QObject::tr(subject.words).replace(QStringLiteral("%2"), number.section(QLatin1Char('.'), -1));
}

QString askedWords(const QString& comparison)
{
    return comparison == QLatin1String("<")    ? QObject::tr("it should be less than %1")
           : comparison == QLatin1String("<=") ? QObject::tr("it should be at most %1")
           : comparison == QLatin1String(">")  ? QObject::tr("it should be more than %1")
           : comparison == QLatin1String(">=") ? QObject::tr("it should be at least %1")
                                               : QObject::tr("it should be %1");
}

/// Of "mine.mfu is 0.4, one.mfu is 0.3" what the name stands for; a number stands for itself.
std::optional<double> valueIn(const QString& sides, const QString& of)
{
    bool isNumber = false;
    const double literal = of.toDouble(&isNumber);
    if (isNumber)
        return literal;
    const qsizetype at = sides.indexOf(of + QStringLiteral(" is "));
    if (at < 0)
        return {};
    const QRegularExpressionMatch number =
        QRegularExpression(QStringLiteral("^-?[0-9.]+(?:e[-+]?[0-9]+)?")).match(sides.mid(at + of.size() + 4));
    QString digits = number.captured(0);
    while (digits.endsWith(QLatin1Char('.')))
        digits.chop(1);
    const double value = digits.toDouble(&isNumber);
    return isNumber ? std::optional(value) : std::nullopt;
}

QString written(double value, const char* format)
{
    return QString::fromStdString(sim::writtenValue(value, format));
}

/// Of a claim and its two sides, as whyNot tells them of one that does not hold: what is, and of one that is not met what is
/// asked for. Empty: its form has no words.
QString claimWords(const QString& text, bool isMet)
{
    static const QRegularExpression kGroup(
        QStringLiteral("^mine\\.groups\\((\\d+)\\)\\.([a-z_]+)\\s*==\\s*\\[(.*?)\\] does not hold(?:: .*? is \\[(.*?)\\])?"));
    if (const QRegularExpressionMatch group = kGroup.match(text); group.hasMatch()) {
        const auto listed = [&](int part) {
            return group.captured(part).remove(QLatin1Char(' ')).replace(QLatin1Char(','), QStringLiteral(", "));
        };
        if (isMet)
            return QObject::tr("the %1 group of rank %2 is %3").arg(group.captured(2), group.captured(1), listed(3));
        const QString asked = QObject::tr("it should be %1").arg(listed(3));
        return group.captured(4).isEmpty()
                   ? asked
                   : QObject::tr("the %1 group of rank %2 is %3; %4").arg(group.captured(2), group.captured(1), listed(4), asked);
    }
    static const QRegularExpression kClaim(
        QStringLiteral("^mine\\.([\\w.]+)\\s*(<=|>=|<|>|==)\\s*([\\w.]+) does not hold: (.*)$"));
    static const QRegularExpression kNoughts(QStringLiteral("\\.0+(?=\\D|$)")); // a limit is meant as it was written
    const QRegularExpressionMatch claim = kClaim.match(text);
    const GoalSubject* subject = claim.hasMatch() ? subjectOf(claim.captured(1)) : nullptr;
    if (subject == nullptr)
        return {};
    const auto is = valueIn(claim.captured(4), QStringLiteral("mine.") + claim.captured(1));
    const auto asked = valueIn(claim.captured(4), claim.captured(3));
    if (!is || !asked)
        return {};
    const QString what = wordsOf(*subject, claim.captured(1)).arg(written(*is, subject->format));
    if (isMet)
        return what;
    return what + QStringLiteral("; ") + askedWords(claim.captured(2)).arg(written(*asked, subject->format).remove(kNoughts));
}

QString unfitWords()
{
    return QObject::tr("it does not fit into the memory of its GPUs");
}

/// By how much `mine` fits, or does not.
QString fitWords(const sim::Cases& names, bool fits)
{
    const auto gib = [&](const char* of) { return sim::Expression::parse(of).evaluate(names).get<double>(); };
    const double peak = gib("mine.peak_memory_gib"), capacity = gib("mine.memory.capacity");
    if (!fits && peak <= capacity)
        return QObject::tr("its GPUs hold it, but not the host what is offloaded, or the schedule's own cap is not kept");
    return (fits ? QObject::tr("the peak memory is %1, and a GPU has %2")
                 : QObject::tr("the peak memory is %1, but a GPU has %2"))
        .arg(written(peak, "gib"), written(capacity, "gib"));
}

} // namespace

QString goalText(const std::string& unmet)
{
    const QString words = unmet.starts_with("mine.fits ") ? unfitWords() : claimWords(QString::fromStdString(unmet), false);
    return words.isEmpty() ? QString::fromStdString(unmet) : words;
}

QString hindranceText(const sim::ChallengeState& state)
{
    if (!state.problem.empty() || (state.forbidden.empty() && state.isTooMuch()))
        return QString::fromStdString(state.text());
    if (state.forbidden.empty())
        return {};
    const ScenarioKey* key = findScenarioKey(state.forbidden.front());
    // What the form has no name for is called as the file calls it: "lora" of /training/lora.
    const QString name = key != nullptr ? QString::fromStdString(sentenceName(*key))
                                        : QString::fromStdString(state.forbidden.front())
                                              .section(QLatin1Char('/'), -1)
                                              .replace(QLatin1Char('_'), QLatin1Char(' '));
    return QObject::tr("“%1” may not be changed here").arg(name);
}

QStringList goalTexts(const sim::Challenge& challenge, const sim::ScenarioDocument& mine, const sim::Cases& cases,
                      const std::shared_ptr<const sim::Simulation>& step)
{
    sim::Cases names(&cases);
    names.put("mine", mine, step);
    QStringList texts;
    for (const std::string& goal : challenge.goal) {
        const std::optional<std::string> why = sim::whyNot(goal, names);
        QString words;
        if (goal == "mine.fits")
            words = fitWords(names, !why);
        else if (why)
            words = goalText(*why);
        else
            words =
                claimWords(QString::fromStdString(goal + " does not hold: " + sim::Expression::parse(goal).sides(names)), true);
        if (!words.isEmpty())
            texts << (why ? QObject::tr("✗ Not yet: %1") : QObject::tr("✓ Met: %1")).arg(words);
    }
    return texts;
}

QStringList reachedTexts(const sim::Challenge& challenge, const sim::ScenarioDocument& mine, const sim::Cases& cases,
                         const std::shared_ptr<const sim::Simulation>& step)
{
    static const QRegularExpression kSubject(QStringLiteral("^mine\\.([\\w.]+)"));
    sim::Cases names(&cases);
    names.put("mine", mine, step);
    QStringList texts;
    for (const std::string& goal : challenge.goal) {
        QString number = kSubject.match(QString::fromStdString(goal)).captured(1);
        if (number == QLatin1String("fits")) // by how much
            number = QStringLiteral("peak_memory_gib");
        const GoalSubject* subject = subjectOf(number);
        if (subject == nullptr)
            continue;
        const auto valueOf = [&](const std::string& of) {
            const std::string asked = of + "." + number.toStdString();
            return QString::fromStdString(sim::writtenValue(sim::Expression::parse(asked).evaluate(names), subject->format));
        };
        const QString is = valueOf("mine"), was = valueOf(challenge.from);
        const QString text = QObject::tr("%1, it was %2").arg(wordsOf(*subject, number).arg(is), was);
        if (is != was && !texts.contains(text))
            texts << text;
    }
    return texts;
}

} // namespace app
