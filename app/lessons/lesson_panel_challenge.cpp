// The player's challenges: what is asked for, what may be changed, hints one by one, and what was done once it is reached.
#include "app/lessons/challenge_limit.h"
#include "app/lessons/goal_text.h"
#include "app/lessons/lesson_panel.h"
#include "app/lessons/lesson_text.h"
#include "sim/scenario/changed_keys.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace app {

using sim::LessonValue;

const sim::Challenge* LessonPanel::challenge() const
{
    return m_play && !m_isAtEnd && m_play->step(m_at).challenge ? &*m_play->step(m_at).challenge : nullptr;
}

std::vector<AllowedSetting> LessonPanel::allowed() const
{
    const sim::Challenge* goal = challenge();
    const auto* start = goal != nullptr ? std::get_if<sim::ScenarioDocument>(&sim::startOf(*goal, m_play->cases())) : nullptr;
    if (start == nullptr)
        return {};
    return allowedSettings(*goal, sim::resolvedScenario(*start, m_play->cases().catalogue()));
}

void LessonPanel::buildChallenge(const sim::Challenge& goal)
{
    QVBoxLayout* column = nullptr;
    QFrame* frame = lessonCard(column);
    m_goalState = lessonParagraph({}, nullptr);
    m_goalState->setAccessibleName(tr("How far the challenge is"));
    column->addWidget(m_goalState);
    if (m_play->scenario(goal.from) == nullptr)
        setLessonText(m_goalState, tr("This pipeline is on paper: write down what you would change."));
    m_ways = new QWidget;
    auto* ways = new QVBoxLayout(m_ways);
    ways->setContentsMargins(0, 0, 0, 0);
    ways->setSpacing(column->spacing());
    ways->addWidget(lessonParagraph(goal.changes == 1 ? tr("One change is possible; undo brings it back.")
                                                      : tr("%1 changes are possible; undo brings one back.").arg(goal.changes),
                                    "small"));
    QStringList links;
    const std::vector<AllowedSetting> settings = allowed();
    for (std::size_t i = 0; i < settings.size(); ++i)
        links << QStringLiteral("[%1](setting:%2)").arg(settings[i].name).arg(i);
    QLabel* where = lessonParagraph(links.isEmpty() ? tr("Change the scenario at the left.")
                                                    : tr("You may change %1: a click leads there.").arg(listedText(links)),
                                    nullptr);
    where->setTextInteractionFlags(Qt::TextBrowserInteraction);
    connect(where, &QLabel::linkActivated, this, [this, settings](const QString& link) {
        const qsizetype at = link.section(QLatin1Char(':'), 1).toLongLong();
        if (at >= 0 && at < std::ssize(settings))
            Q_EMIT settingRequested(QString::fromStdString(settings[static_cast<std::size_t>(at)].pointer));
    });
    ways->addWidget(where);
    m_hints = new QVBoxLayout;
    m_hints->setSpacing(column->spacing());
    ways->addLayout(m_hints);
    const auto& hints = m_play->hints(m_at);
    m_open.hints = std::min(m_open.hints, hints.size()); // the lesson may have fewer by now
    for (std::size_t i = 0; i < m_open.hints; ++i)
        m_hints->addWidget(lessonParagraph(QString::fromStdString(hints[i]), "muted"));
    m_hint = new QPushButton;
    ways->addWidget(m_hint);
    nameHint();
    connect(m_hint, &QPushButton::clicked, this, &LessonPanel::hint);
    column->addWidget(m_ways);
    m_column->insertWidget(m_column->count() - 1, frame);
    if (committed())
        tellReached({});
}

/// A solution is elsewhere than hints: who clicks once too often does not lose the task.
void LessonPanel::nameHint()
{
    const bool isLast = m_open.hints == m_play->hints(m_at).size();
    m_hint->setText(isLast ? tr("Show a solution") : tr("Give a hint"));
    m_ways->layout()->setAlignment(m_hint, isLast ? Qt::AlignRight : Qt::AlignLeft);
}

void LessonPanel::hint()
{
    const sim::Challenge* goal = challenge();
    if (goal == nullptr || m_hint == nullptr)
        return;
    const auto& hints = m_play->hints(m_at);
    if (m_open.hints < hints.size()) {
        m_hints->addWidget(lessonParagraph(QString::fromStdString(hints[m_open.hints++]), "muted"));
        nameHint();
        keepOpen();
    } else {
        m_open.isSolutionShown = true;
        keepOpen();
        m_hint->setEnabled(false);
        sim::CaseSubject solved = sim::startOf(*goal, m_play->cases());
        sim::setKeys(solved, goal->solvedBy.front());
        if (const auto* document = std::get_if<sim::ScenarioDocument>(&solved))
            Q_EMIT solutionRequested(*document);
        else // a pipeline alone: there is no form for it
            m_hints->addWidget(
                lessonParagraph(tr("A way: %1.").arg(changesText(goal->solvedBy.front(), m_play->cases().catalogue())), "muted"));
    }
}

/// Is the case on the desk that the challenge begins with? What was there before it is nobody's solution.
bool LessonPanel::isStartShown() const
{
    const sim::Challenge* goal = challenge();
    if (goal == nullptr || m_desk.session().scenario() == nullptr)
        return false;
    const auto* start = std::get_if<sim::ScenarioDocument>(&sim::startOf(*goal, m_play->cases()));
    return start != nullptr &&
           sim::changedKeys(sim::resolvedScenario(*start, m_play->cases().catalogue()), *m_desk.session().scenario()).empty();
}

void LessonPanel::updateChallenge()
{
    const sim::Challenge* goal = challenge();
    if (goal == nullptr || m_goalState == nullptr || m_isSuspended || !m_isStartShown || !m_desk.session().isOpen())
        return;
    const sim::ScenarioDocument& mine = m_desk.session().document();
    const SimulationPtr& step = m_desk.simulation();
    const bool isLegal = m_desk.session().isLegal() && step && m_desk.session().scenario() != nullptr;
    if (isLegal && !(step->scenario() == *m_desk.session().scenario()))
        return setLessonText(m_goalState, tr("The engine works it out…"));
    if (!m_desk.session().isLegal())
        return setLessonText(m_goalState, tr("This is no job that can run: the form says why."));
    if (!isLegal)
        return;
    try {
        const sim::ChallengeState state = sim::stateOf(*goal, mine, m_play->cases(), step);
        if (state.isReached()) {
            LessonValue changes = LessonValue::object();
            for (const auto* pointers : {&state.changed, &state.followed})
                for (const std::string& pointer : *pointers)
                    changes[pointer] = LessonValue::parse(mine.get(pointer).value_or("null"));
            if (!committed())
                tellUnkept(m_progress.commit(m_play->lesson(), goal->id,
                                             {.value = changes,
                                              .isRight = !m_open.isSolutionShown,
                                              .sure = {},
                                              .seconds = secondsSpent(),
                                              .isSolutionShown = m_open.isSolutionShown}));
            tellReached(reachedTexts(*goal, mine, m_play->cases(), step), changes);
        } else if (committed() && state.changed.empty()) {
            tellReached({}); // it was; the start is there again
        } else {
            const QString moved = state.changed.empty() ? tr("Nothing changed yet.")
                                  : state.changed.size() == 1
                                      ? tr("1 change of %1.").arg(goal->changes)
                                      : tr("%1 changes of %2.").arg(state.changed.size()).arg(goal->changes);
            QStringList lines{moved};
            if (const QString hindrance = hindranceText(state); !hindrance.isEmpty())
                lines << tr("✗ Not yet: %1").arg(hindrance);
            if (state.problem.empty())
                lines << goalTexts(*goal, mine, m_play->cases(), step);
            setLessonText(m_goalState, lines.join(QStringLiteral("\n\n")));
        }
    } catch (const sim::Error& error) {
        setLessonText(m_goalState, QString::fromUtf8(error.what()));
    }
    updateButtons();
}

/// What the learner did, what it gave and what to remember of it; the ways there are not needed any more.
void LessonPanel::tellReached(const QStringList& gave, const LessonValue& changes)
{
    const auto answer = committed();
    const LessonValue& done = changes.is_null() && answer ? answer->value : changes;
    const bool isOwn = !m_open.isSolutionShown && (!answer || answer->isRight);
    const QString did = changesText(done, m_play->cases().catalogue());
    QStringList sentences{
        (isOwn ? tr("**Reached.** You changed: %1.") : tr("**Reached** by a solution that was shown: %1.")).arg(did)};
    for (const QString& each : gave)
        sentences << each.left(1).toUpper() + each.mid(1) + QLatin1Char('.');
    setLessonText(m_goalState,
                  sentences.join(QLatin1Char(' ')) + QStringLiteral("\n\n") + QString::fromStdString(m_play->because(m_at)));
    if (m_ways == nullptr)
        return;
    m_ways->setParent(nullptr);
    m_ways->deleteLater(); // its button may be telling us so
    m_ways = nullptr;
    m_hints = nullptr;
    m_hint = nullptr;
}

} // namespace app
