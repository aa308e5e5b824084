// The player's last page: how it went, what was asked and answered, and how to go on.
#include "app/lessons/lesson_panel.h"

#include "app/shell/widgets/style.h"

#include "app/lessons/lesson_text.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace app {

namespace {

/// " (certain)"; nothing where it was not asked.
QString surenessOf(const CommittedAnswer& answer)
{
    const auto said = std::ranges::find_if(kSureness, [&](const Sureness& each) { return answer.sure == each.share; });
    return said == kSureness.end() ? QString() : LessonPanel::tr(" (%1)").arg(LessonPanel::tr(said->words));
}

} // namespace

/// By the engine as it is now, and by what the step asks now; a challenge was judged when it was solved.
bool LessonPanel::isRight(std::size_t at, const CommittedAnswer& answer) const
{
    const sim::AskedQuestion* asked = m_play->asked(at);
    return asked != nullptr ? asked->whyNoAnswer(answer.value).empty() && asked->isRight(answer.value) : answer.isRight;
}

void LessonPanel::buildEnd()
{
    const sim::Lesson& lesson = m_play->lesson();
    std::size_t asked = 0, right = 0;
    for (std::size_t i = 0; i < m_play->steps(); ++i) {
        const std::string& id = m_play->id(i);
        if (id.empty())
            continue;
        ++asked;
        const auto answer = answerOf(id);
        right += answer && isRight(i, *answer) ? 1 : 0;
    }
    addText(tr("**Done.** %1 of %2 right.").arg(right).arg(asked));
    if (!m_onlyRemember && !lesson.breaks.empty())
        addText(tr("What is not so: *%1*.").arg(QString::fromStdString(lesson.breaks)));
    if (const QString title = m_following && !m_onlyRemember ? m_following(lesson) : QString(); !title.isEmpty()) {
        auto* following = new QPushButton(tr("Next Lesson"));
        following->setObjectName(QStringLiteral("following"));
        setRole(following, "primary");
        following->setAccessibleDescription(title);
        connect(following, &QPushButton::clicked, this, &LessonPanel::followingRequested);
        addText(tr("The next lesson: **%1**").arg(title));
        m_column->insertWidget(m_column->count() - 1, following, 0, Qt::AlignLeft);
    }
    buildRecap();
    if (!m_onlyRemember) {
        if (!lesson.remember.empty())
            addText(tr("A question or two come back in the gallery after 1, 3 and 8 days, with other numbers."), "muted");
        if (!lesson.source.empty())
            addText(tr("Source: %1").arg(QString::fromStdString(lesson.source)), "small");
        addBeginAnew();
    }
}

void LessonPanel::addBeginAnew()
{
    auto* anew = new QPushButton(tr("Begin Anew"));
    anew->setToolTip(tr("Forgets the answers to this lesson"));
    connect(anew, &QPushButton::clicked, this, &LessonPanel::anewRequested);
    m_column->insertWidget(m_column->count() - 1, anew, 0, Qt::AlignLeft);
}

/// What was asked, what you said and what the engine says, and what to remember of it; in the lesson's order.
void LessonPanel::buildRecap()
{
    int number = 0;
    for (std::size_t at = 0; at < m_play->steps(); ++at) {
        if (m_play->id(at).empty())
            continue;
        const auto given = answerOf(m_play->id(at));
        const sim::AskedQuestion* asked = m_play->asked(at);
        QVBoxLayout* column = nullptr;
        QFrame* card = lessonCard(column);
        const QString mark = !given                ? tr("not answered")
                             : isRight(at, *given) ? tr("right")
                             : asked != nullptr    ? tr("not so")
                                                   : tr("a solution was shown");
        column->addWidget(lessonParagraph(tr("%1 · %2").arg(++number).arg(mark), "small"));
        column->addWidget(lessonParagraph(
            asked != nullptr ? QString::fromStdString(asked->text()) : QString::fromStdString(m_play->text(at)), nullptr));
        if (asked != nullptr) {
            const bool isOrder = asked->question().input == sim::QuestionInput::actions;
            const auto words = [&](const sim::LessonValue& value) {
                return isOrder ? orderText(asked->outcomeOf(value)) : answerText(*asked, value);
            };
            if (given && asked->whyNoAnswer(given->value).empty())
                column->addWidget(lessonParagraph(tr("You: %1").arg(words(given->value)) + surenessOf(*given), nullptr));
            column->addWidget(lessonParagraph(tr("The engine: **%1**").arg(words(asked->rightAnswer())), nullptr));
        } else if (given) {
            column->addWidget(
                lessonParagraph(tr("Your change: %1").arg(changesText(given->value, m_play->cases().catalogue())), nullptr));
        }
        if (const std::string& because = m_play->because(at); !because.empty())
            column->addWidget(lessonParagraph(tr("To remember: %1").arg(QString::fromStdString(because)), "muted"));
        m_column->insertWidget(m_column->count() - 1, card);
    }
}

} // namespace app
