// The player's questions: how they are answered, and the verdict that is kept in sight.
#include "app/lessons/lesson_panel.h"

#include "app/lessons/answer_axis.h"
#include "app/lessons/curve_input.h"
#include "app/lessons/lesson_text.h"
#include "app/lessons/list_inputs.h"
#include "app/shell/widgets/style.h"
#include "sim/scenario/json_text.h"

#include <QAbstractButton>
#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QRadioButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <utility>

namespace app {
namespace {

using sim::LessonValue;

constexpr int kCardFrame = 1;

} // namespace

void LessonPanel::buildQuestion(const sim::AskedQuestion& asked)
{
    QVBoxLayout* column = nullptr;
    QFrame* frame = lessonCard(column);
    m_input = makeAnswerInput(asked, m_desk, frame);
    m_inputCard = frame;
    column->addWidget(m_input);
    const auto answer = committed();
    if (answer) {
        m_input->setValue(answer->value);
        m_input->setAnswered();
    } else {
        if (asked.question().sure) {
            m_sureLine = new QBoxLayout(QBoxLayout::LeftToRight);
            m_sureLine->addWidget(new QLabel(tr("How sure?")));
            setRole(m_sureLine->itemAt(0)->widget(), "muted12");
            m_sureChoices = new QBoxLayout(QBoxLayout::LeftToRight);
            m_sure = new QButtonGroup(frame);
            for (std::size_t i = 0; i < kSureness.size(); ++i) {
                auto* button = new QRadioButton(tr(kSureness[i].words));
                m_sure->addButton(button, static_cast<int>(i));
                m_sureChoices->addWidget(button);
                connect(button, &QRadioButton::toggled, this, &LessonPanel::updateButtons);
            }
            m_sureLine->addLayout(m_sureChoices);
            m_sureLine->addStretch();
            column->addLayout(m_sureLine);
        }
        m_commit = new QPushButton(tr("Commit"));
        m_commit->setToolTip(tr("Your answer stays as it is; then the engine's is shown"));
        setRole(m_commit, "primary");
        m_why = lessonParagraph({}, "small");
        auto* buttons = new QHBoxLayout;
        buttons->addWidget(m_commit);
        if (auto* actions = dynamic_cast<ActionsInput*>(m_input))
            buttons->addWidget(actions->editorButton());
        buttons->addStretch();
        column->addLayout(buttons);
        column->addWidget(m_why);
        connect(m_commit, &QPushButton::clicked, this, &LessonPanel::commit);
        connect(m_input, &AnswerInput::changed, this, &LessonPanel::updateButtons);
    }
    m_column->insertWidget(m_column->count() - 1, frame);
    fitInput();
    if (answer)
        buildVerdict(asked, *answer);
}

void LessonPanel::commit()
{
    if (!canCommit())
        return;
    const sim::AskedQuestion& asked = *m_play->asked(m_at);
    CommittedAnswer answer{
        .value = m_input->value(), .isRight = asked.isRight(m_input->value()), .sure = {}, .seconds = secondsSpent()};
    if (m_sure != nullptr && m_sure->checkedId() >= 0)
        answer.sure = kSureness[static_cast<std::size_t>(m_sure->checkedId())].share;
    const std::string& id = m_play->id(m_at);
    bool isKept = false;
    if (m_onlyRemember) {
        m_remembered[id] = answer;
        isKept = m_progress.remembered(m_play->lesson(), id, answer.isRight, asked.numbers(), QDateTime::currentDateTime());
    } else {
        m_progress.withdraw(m_play->lesson(), id); // what was answered when the lesson asked something else
        isKept = m_progress.commit(m_play->lesson(), id, answer);
    }
    m_input->setAnswered();
    m_commit->hide();
    m_why->hide();
    if (m_sure != nullptr)
        for (QAbstractButton* button : m_sure->buttons())
            button->setEnabled(false);
    m_verdict = buildVerdict(asked, answer);
    tellUnkept(isKept);
    linkTerms();
    updateButtons();
    if (m_play->isDrawn(m_at)) {
        showDrawnCase();
        expectNext();
    } else if (asked.question().input == sim::QuestionInput::ranks) { // the answer is seen where it was asked for
        LessonScene scene = sceneOf(*m_play, m_at);
        scene.shown = scene.compared = nullptr;
        scene.asksForRanks = scene.play = false;
        scene.ranks = sim::valueAs<std::vector<int>>(asked.rightAnswer()).value_or(std::vector<int>());
        Q_EMIT sceneChanged(scene);
    } else if (m_play->scenario(m_play->seenWhenAnswered(m_at).shown) != nullptr) {
        // Words first: the pictures of the answer follow them, unless one has gone on by then.
        QTimer::singleShot(0, this, [this, at = m_at, play = m_play] {
            if (play != m_play || at != m_at || m_isAtEnd || m_isSuspended)
                return;
            const sim::LessonPlay::Seen seen = m_play->seenWhenAnswered(at);
            m_sceneName = seen.shown;
            if (seen.isNextStep)
                m_seenStep = at + 1;
            Q_EMIT sceneChanged(answeredSceneOf(*m_play, at));
            expectNext();
        });
    }
    m_next->setFocus();
    QTimer::singleShot(0, this, &LessonPanel::showVerdict); // laid out by then, if nothing moved
}

/// All of the answer and its reason; where there is less room, from their beginning.
void LessonPanel::showVerdict()
{
    if (!m_verdict)
        return;
    QScrollBar* bar = m_scroll->verticalScrollBar();
    const int top = m_verdict->mapTo(m_body, QPoint(0, 0)).y(), bottom = top + m_verdict->height();
    const int high = m_scroll->viewport()->height();
    const int at = std::min(top, wholeLineFrom(std::max(0, bottom + m_column->contentsMargins().bottom() - high)));
    m_body->setMinimumHeight(at + high); // so far down it may be scrolled
    const QSignalBlocker quiet(bar);     // of the range, which does not change by that
    bar->setValue(at);
}

/// The next place in the body at which no line of the step's words is cut.
int LessonPanel::wholeLineFrom(int y) const
{
    for (const QLabel* label : m_body->findChildren<QLabel*>(QString(), Qt::FindDirectChildrenOnly)) {
        const int into = y - label->y(), line = label->fontMetrics().lineSpacing();
        if (!label->isHidden() && into > 0 && into < label->height())
            return std::min(label->y() + (into + line - 1) / line * line, label->geometry().bottom() + 1);
    }
    return y;
}

/// Where the place is low, so is what can be; what is too wide for a line takes several.
void LessonPanel::fitInput()
{
    constexpr int kLow = 340; ///< a window of 720 pixels with text twice as large
    m_title->setVisible(height() >= kLow);
    if (m_input != nullptr)
        m_input->fitInto(m_scroll->viewport()->height());
    if (m_sure == nullptr)
        return;
    const QMargins card = m_inputCard->layout()->contentsMargins(), body = m_column->contentsMargins();
    const int room = m_scroll->viewport()->width() - card.left() - card.right() - body.left() - body.right() - 2 * kCardFrame;
    const auto isTooWide = [&](QBoxLayout* line) {
        line->setDirection(QBoxLayout::LeftToRight);
        return line->sizeHint().width() > room;
    };
    if (isTooWide(m_sureChoices))
        m_sureChoices->setDirection(QBoxLayout::TopToBottom);
    if (isTooWide(m_sureLine))
        m_sureLine->setDirection(QBoxLayout::TopToBottom);
}

void LessonPanel::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fitInput();
    showVerdict();
}

/// Your answer beside the engine's, and the reason for the mistake that was made.
QWidget* LessonPanel::buildVerdict(const sim::AskedQuestion& asked, const CommittedAnswer& answer)
{
    // A curve is answered on its own plot: words and plot stay together.
    const bool isCurve = asked.question().input == sim::QuestionInput::sketch;
    QVBoxLayout* column = isCurve ? static_cast<QVBoxLayout*>(m_inputCard->layout()) : nullptr;
    QFrame* frame = isCurve ? static_cast<QFrame*>(m_inputCard) : lessonCard(column);
    const bool isRight = asked.isRight(answer.value);
    const std::string reason = isRight ? std::string() : asked.reasonFor(answer.value);
    const QString verdict = isRight ? tr("**Right.**") : tr("**Not so.**");
    if (isCurve && !reason.empty()) {
        column->addWidget(lessonParagraph(verdict + QLatin1Char(' ') + QString::fromStdString(reason), nullptr));
        static_cast<CurveInput*>(m_input)->setEngines(asked.rightAnswer().get<std::vector<double>>());
    } else {
        column->addWidget(lessonParagraph(verdict, nullptr));
        tellAnswers(asked, answer, frame, column);
        if (!reason.empty())
            column->addWidget(lessonParagraph(QString::fromStdString(reason), nullptr));
    }
    if (isRight != answer.isRight)
        column->addWidget(lessonParagraph(
            tr("When you answered, it was judged otherwise: the lesson or the engine has changed since."), "muted"));
    if (const std::string& because = m_play->because(m_at); !because.empty())
        column->addWidget(lessonParagraph(QString::fromStdString(because), "muted"));
    if (!isCurve)
        m_column->insertWidget(m_column->count() - 1, frame);
    return frame;
}

/// As a picture where there is one; what was answered with makes room where the picture tells it, too.
void LessonPanel::tellAnswers(const sim::AskedQuestion& asked, const CommittedAnswer& answer, QFrame* frame, QVBoxLayout* column)
{
    const LessonValue right = asked.rightAnswer(), meant = asked.meant(answer.value);
    const bool isRight = asked.isRight(answer.value);
    const sim::QuestionInput input = asked.question().input;
    const QString yours = answerText(asked, meant), engines = answerText(asked, right);
    if (meant != answer.value)
        column->addWidget(
            lessonParagraph(tr("%1, as it stands there, is taken for %2.").arg(answerText(asked, answer.value), yours), "muted"));
    if (meant.is_number() && right.is_number() && input != sim::QuestionInput::choice) {
        const std::array both{meant.get<double>(), right.get<double>()};
        column->addWidget(new AnswerAxis(answerRange(asked, both), both[0], both[1], yours, engines, frame));
    } else if (input == sim::QuestionInput::sketch) {
        static_cast<CurveInput*>(m_input)->setEngines(right.get<std::vector<double>>());
    } else if (input == sim::QuestionInput::bars) {
        m_inputCard->hide();
        std::vector<AnswerBars::Bar> bars;
        std::vector<double> values;
        for (std::size_t i = 0; i < std::min(right.size(), answer.value.size()); ++i) {
            values.insert(values.end(), {answer.value[i].get<double>(), right[i].get<double>()});
            bars.push_back({.name = QString::fromStdString(asked.filled(asked.question().parts[i].text)),
                            .yours = answer.value[i].get<double>(),
                            .engines = right[i].get<double>(),
                            .yourText = answerText(asked, answer.value[i]),
                            .engineText = answerText(asked, right[i])});
        }
        column->addWidget(new AnswerBars(std::move(bars), answerRange(asked, values), frame));
    } else if (input == sim::QuestionInput::order) {
        m_inputCard->hide();
        for (std::size_t place = 0; place < right.size(); ++place) {
            const auto mine = std::find(answer.value.begin(), answer.value.end(), right[place]) - answer.value.begin();
            const QString card =
                QStringLiteral("%1\\. %2").arg(place + 1).arg(answerText(asked, LessonValue::array({right[place]})));
            column->addWidget(
                lessonParagraph(static_cast<std::size_t>(mine) == place ? card : card + tr(" *(you: place %1)*").arg(mine + 1),
                                static_cast<std::size_t>(mine) == place ? "muted" : nullptr));
        }
    } else if (input == sim::QuestionInput::actions) { // rows of codes tell nobody anything
        m_input->hide();
        m_inputCard->hide();
        const sim::OrderOutcome mine = asked.outcomeOf(answer.value);
        column->addWidget(lessonParagraph(tr("You: %1.").arg(orderText(mine)), "muted"));
        if (!isRight) {
            if (mine.problem.empty())
                column->addWidget(lessonParagraph(tr("Missed: %1.").arg(unmetText(mine)), nullptr));
            column->addWidget(lessonParagraph(tr("The engine: %1.").arg(orderText(asked.outcomeOf(right))), nullptr));
            auto* look = new QPushButton(tr("See That Order…"));
            QStringList rows;
            for (const std::string& row : sim::valueAs<std::vector<std::string>>(right).value_or(std::vector<std::string>()))
                rows << QString::fromStdString(row);
            connect(look, &QPushButton::clicked, this, [this, rows] {
                if (auto* actions = dynamic_cast<ActionsInput*>(m_input))
                    actions->openEditor(rows);
            });
            column->addWidget(look, 0, Qt::AlignLeft);
        }
    } else {
        column->addWidget(lessonParagraph(tr("You: %1").arg(yours), "muted"));
        if (!isRight)
            column->addWidget(lessonParagraph(tr("The engine: %1").arg(engines), nullptr));
    }
}

} // namespace app
