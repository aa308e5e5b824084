#include "app/lessons/lesson_panel.h"

#include "app/lessons/lesson_text.h"
#include "app/shell/widgets/style.h"
#include "sim/scenario/json_text.h"

#include <QAbstractButton>
#include <QButtonGroup>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QRadioButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace app {
namespace {

using sim::LessonValue;

QString fromUtf8(const std::string& text)
{
    return QString::fromStdString(text);
}

} // namespace

LessonScene sceneOf(const sim::LessonPlay& play, std::size_t at)
{
    const sim::LessonStep& step = play.step(at);
    LessonScene scene{.shown = play.shown(at),
                      .compared = play.compared(at),
                      .shownName = sceneName(play, play.shownName(at)),
                      .comparedName = sceneName(play, play.comparedName(at)),
                      .comparedPeakGib = play.comparedPeakGib(at),
                      .view = play.view(at),
                      .play = step.play || (step.reveal && step.reveal->play),
                      .asksForSlice = step.predict && step.predict->input == sim::QuestionInput::tensor,
                      .asksForRanks = step.predict && step.predict->input == sim::QuestionInput::ranks,
                      .front = {},
                      .tensor = {},
                      .ranks = {},
                      .note = {}};
    const auto add = [&](const std::string& name) {
        if (const PictureInfo* info = findPicture(name);
            info != nullptr && std::ranges::find(scene.front, info->picture) == scene.front.end())
            scene.front.push_back(info->picture);
    };
    for (const sim::LessonPoint& point : step.points) {
        add(point.picture);
        if (scene.tensor.isEmpty())
            scene.tensor = fromUtf8(point.tensor);
    }
    if (step.predict && step.predict->input == sim::QuestionInput::ranks)
        add("grid"); // there they are clicked
    if (scene.asksForSlice)
        add("storage"); // there it is marked
    if (const sim::LessonValue* names = step.view.is_object() ? sim::memberOf(step.view, "pictures") : nullptr)
        for (const std::string& name : sim::valueAs<std::vector<std::string>>(*names).value_or(std::vector<std::string>()))
            add(name);
    if (step.predict && step.predict->input == sim::QuestionInput::actions && scene.front.empty() && step.show.empty())
        scene.note =
            LessonPanel::tr("This pipeline is on paper: no scenario goes with it. “Order Editor…” draws it, and tells what an "
                            "order costs while you move its actions.");
    if (play.isDrawn(at))
        scene.note =
            play.drawnCase(at) != nullptr
                ? LessonPanel::tr(
                      "This question is for you and a sheet of paper: the pictures of its case would tell the answer. "
                      "They are shown when you have answered.")
                : LessonPanel::tr("This question is for you and a sheet of paper: no picture goes with it. Those that were here "
                                  "come back when you have answered.");
    return scene;
}

namespace {

/// That the lesson has shown since a step said which pictures there are: those, and what was pointed at beside them.
std::vector<Picture> picturesShownBy(const sim::LessonPlay& play, std::size_t at)
{
    const auto saysWhich = [&play](std::size_t step) {
        const sim::LessonValue& view = play.step(step).view;
        return view.is_object() && sim::memberOf(view, "pictures") != nullptr;
    };
    std::size_t first = at;
    while (first > 0 && !saysWhich(first))
        --first;
    std::vector<Picture> shown;
    for (std::size_t step = first; step <= at; ++step)
        for (const Picture picture : sceneOf(play, step).front)
            if (std::find(shown.begin(), shown.end(), picture) == shown.end())
                shown.push_back(picture);
    return shown;
}

} // namespace

LessonScene answeredSceneOf(const sim::LessonPlay& play, std::size_t at)
{
    const sim::LessonPlay::Seen seen = play.seenWhenAnswered(at);
    if (seen.shown.empty())
        return {};
    if (seen.isNextStep)
        return sceneOf(play, at + 1);
    LessonScene scene = sceneOf(play, at);
    scene.shown = play.scenario(seen.shown);
    scene.shownName = sceneName(play, seen.shown);
    scene.compared = play.scenario(seen.compared);
    scene.comparedName = sceneName(play, seen.compared);
    scene.comparedPeakGib = play.peakGibOf(seen.compared);
    scene.asksForSlice = scene.asksForRanks = scene.play = false;
    scene.note.clear();
    return scene;
}

LessonPanel::LessonPanel(Desk& desk, LessonProgress& progress, QWidget* parent)
    : QFrame(parent), m_desk(desk), m_progress(progress), m_section(new QLabel), m_title(new QLabel), m_count(new QLabel),
      m_bar(new QProgressBar), m_scroll(new QScrollArea), m_back(new QPushButton(tr("Back"))), m_next(new QPushButton(tr("Next")))
{
    setRole(this, "form");
    setRole(m_section, "section");
    setRole(m_title, "heading");
    m_title->setWordWrap(true);
    m_title->setTextFormat(Qt::PlainText);
    setRole(m_count, "small");
    auto* leave = new QToolButton;
    setRole(leave, "link");
    leave->setText(tr("Leave"));
    leave->setToolTip(tr("Leaves the lesson; it goes on here next time"));
    connect(leave, &QToolButton::clicked, this, &LessonPanel::left);
    setRole(m_bar, "lesson");
    m_bar->setTextVisible(false);
    m_bar->setFixedHeight(4);
    m_bar->setAccessibleName(tr("How far the lesson is"));
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setFocusPolicy(Qt::TabFocus); // a click beside the words takes the keys from nobody
    setRole(m_scroll, "clearPane");
    setRole(m_next, "primary");
    connect(m_back, &QPushButton::clicked, this, &LessonPanel::back);
    connect(m_next, &QPushButton::clicked, this, &LessonPanel::next);

    auto* head = new QHBoxLayout;
    head->addWidget(m_section);
    head->addStretch();
    head->addWidget(leave);
    auto* foot = new QHBoxLayout;
    foot->addWidget(m_back);
    foot->addStretch();
    foot->addWidget(m_count);
    foot->addStretch();
    foot->addWidget(m_next);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(14, 6, 12, 12);
    column->setSpacing(6);
    column->addLayout(head);
    column->addWidget(m_title);
    column->addWidget(m_bar);
    column->addWidget(m_scroll, 1);
    column->addLayout(foot);
    // What a verdict adds is laid out in several rounds; whoever scrolls has read enough of it.
    connect(m_scroll->verticalScrollBar(), &QScrollBar::rangeChanged, this, &LessonPanel::showVerdict);
    connect(m_scroll->verticalScrollBar(), &QScrollBar::actionTriggered, this, [this] { m_verdict = nullptr; });
    connect(&m_desk, &Desk::settled, this, &LessonPanel::updateChallenge);
    connect(&m_desk, &Desk::stepChanged, this, &LessonPanel::updateChallenge);
    connect(&m_desk, &Desk::waits, this, &LessonPanel::updateChallenge);
    connect(&m_desk, &Desk::stepFailed, this, [this](const QString& why) {
        if (m_goalState != nullptr)
            setLessonText(m_goalState, why);
    });
}

void LessonPanel::showPreparing(const QString& title)
{
    pause();
    m_play.reset();
    m_title->setText(title);
    m_section->setText(tr("LESSON"));
    beginBody();
    addText(tr("The engine works out the answers…"), "muted");
    showBody();
    updateButtons();
}

void LessonPanel::stop()
{
    pause();
    m_play.reset();
    m_isAtEnd = false;
    beginBody();
    showBody();
    updateButtons();
    Q_EMIT limitChanged();
}

void LessonPanel::setSuspended(bool suspended)
{
    m_isSuspended = suspended;
    if (suspended)
        Q_EMIT limitChanged();
    pause();
    if (suspended || !m_play)
        return;
    m_sceneName.clear();
    if (!m_isAtEnd)
        return goTo(m_at);
    LessonScene scene = sceneOf(*m_play, m_at); // as the last step left the window: nothing is asked any more
    scene.asksForSlice = scene.asksForRanks = scene.play = false;
    scene.note.clear();
    m_sceneName = m_play->shownName(m_at);
    Q_EMIT sceneChanged(scene);
}

void LessonPanel::start(std::shared_ptr<sim::LessonPlay> play, bool onlyRemember)
{
    pause();
    m_play = std::move(play);
    m_onlyRemember = onlyRemember;
    m_isAtEnd = false;
    m_remembered.clear();
    m_sceneName.clear();
    m_seenStep.reset();
    m_waiting.reset();
    m_pictures.clear();
    const sim::Lesson& lesson = m_play->lesson();
    const QString minutes = lesson.minutes > 0 ? tr(" · %1 MIN").arg(lesson.minutes) : QString();
    m_section->setText(onlyRemember        ? tr("DO YOU REMEMBER?")
                       : lesson.number > 0 ? tr("LESSON %1").arg(lesson.number) + minutes
                                           : tr("LESSON") + minutes);
    m_title->setText(fromUtf8(lesson.title));
    m_bar->setRange(0, static_cast<int>(m_play->steps()));
    const std::size_t at = onlyRemember ? 0 : m_progress.step(lesson);
    goTo(at < m_play->steps() && !m_progress.isFinished(lesson) ? at : 0);
    Q_EMIT started();
}

std::optional<CommittedAnswer> LessonPanel::committed() const
{
    const sim::AskedQuestion* asked = m_play && !m_isAtEnd ? m_play->asked(m_at) : nullptr;
    const sim::Challenge* goal = challenge();
    if (asked == nullptr && goal == nullptr)
        return std::nullopt;
    auto answer = answerOf(m_play->id(m_at));
    if (answer && asked != nullptr && !asked->whyNoAnswer(answer->value).empty())
        answer.reset(); // the lesson asks something else by now
    return answer;
}

std::optional<CommittedAnswer> LessonPanel::answerOf(const std::string& id) const
{
    if (!m_onlyRemember)
        return m_progress.answer(m_play->lesson(), id);
    const auto found = m_remembered.find(id);
    return found == m_remembered.end() ? std::nullopt : std::optional(found->second);
}

bool LessonPanel::masks() const
{
    return m_play && !m_isAtEnd && m_play->asked(m_at) != nullptr && !committed();
}

bool LessonPanel::hidesNumbers() const
{
    return masks() || (!m_isAtEnd && showsWhatIsAsked());
}

bool LessonPanel::showsWhatIsAsked() const
{
    if (m_waiting && m_play && *m_waiting >= m_at && m_play->showsWhatIsAsked(*m_waiting, m_at))
        return true;
    return tellsAhead() && !committed(); // who has answered looks at the picture of it
}

bool LessonPanel::tellsAhead() const
{
    if (!m_play || m_isAtEnd)
        return false;
    const auto& ahead = m_play->answersAhead(m_at);
    return std::any_of(ahead.begin(), ahead.end(), [&](std::size_t ask) { return !answerOf(m_play->id(ask)); });
}

bool LessonPanel::asksSomething() const
{
    if (!m_play || m_isAtEnd)
        return false;
    for (std::size_t at = 0; at < m_play->steps(); ++at)
        if (!m_play->id(at).empty())
            return true;
    return false;
}

bool LessonPanel::canGoOn() const
{
    return m_play && !m_isAtEnd && !masks();
}

bool LessonPanel::canCommit() const
{
    if (!masks() || m_input == nullptr)
        return false;
    const LessonValue given = m_input->value();
    return !given.is_null() && m_play->asked(m_at)->whyNoAnswer(given).empty();
}

/// What is to be mended before an answer can be committed.
QString LessonPanel::whyNoCommit() const
{
    if (const QString problem = m_input != nullptr ? m_input->problem() : QString(); !problem.isEmpty())
        return problem;
    const LessonValue given = m_input != nullptr ? m_input->value() : LessonValue();
    const std::string why = given.is_null() ? std::string() : m_play->asked(m_at)->whyNoAnswer(given);
    return why.empty() ? tr("Answer first: then the engine's answer is shown.") : fromUtf8(why);
}

void LessonPanel::next()
{
    if (!canGoOn())
        return;
    if (m_at + 1 < m_play->steps())
        return goTo(m_at + 1, true);
    m_isAtEnd = true;
    if (!m_onlyRemember) {
        m_progress.finish(m_play->lesson(), QDateTime::currentDateTime());
        m_progress.setStep(m_play->lesson(), 0);
    }
    beginBody();
    buildEnd();
    showBody();
    takeFocus(); // before its button goes, which would give the keyboard to whatever comes next in the window
    updateButtons();
    Q_EMIT limitChanged();
    Q_EMIT finished();
}

void LessonPanel::back()
{
    if (!m_play)
        return;
    if (m_isAtEnd) {
        goTo(m_at);
        Q_EMIT maskChanged(m_hiding.numbers); // it asks again
    } else if (m_at > 0) {
        goTo(m_at - 1);
    }
}

/// `goesOn`: from the step before, whose pictures a step without its own keeps.
void LessonPanel::goTo(std::size_t at, bool goesOn)
{
    const bool comesAnew = !goesOn && (at != m_at || m_sceneName.empty());
    const bool isTriedThere = m_isAtEnd && at == m_at && m_isStartShown; // the challenge that the lesson ends with
    pause();
    m_at = at;
    m_isAtEnd = m_isStartShown = false;
    if (!m_onlyRemember)
        m_progress.setStep(m_play->lesson(), at);
    m_open = m_onlyRemember || m_play->id(at).empty() ? OpenQuestion() : m_progress.open(m_play->lesson(), m_play->id(at));
    m_sinceAsked.start();
    if (masks())
        m_waiting = at;
    std::string name = m_play->shownName(at);
    LessonScene scene = sceneOf(*m_play, at);
    for (std::size_t before = at; comesAnew && before-- > 0 && (scene.view.is_null() || scene.front.empty());) {
        const LessonScene earlier = sceneOf(*m_play, before);
        if (scene.view.is_null())
            scene.view = earlier.view;
        if (scene.front.empty())
            scene.front = earlier.front;
    }
    const bool setsView = !m_play->step(at).view.is_null() || (comesAnew && !scene.view.is_null());
    if (committed())
        if (LessonScene answered = answeredSceneOf(*m_play, at); answered.shown != nullptr) {
            scene = std::move(answered);
            name = m_play->seenWhenAnswered(at).shown;
        }
    // A challenge begins with its start, and what is said next speaks of the case as it is, whatever was tried with it. The end
    // says nothing of a case: who comes back from there finds what was tried.
    scene.keepsComparison = isTriedThere || (name == m_sceneName && m_seenStep == at && !m_desk.session().isModified());
    if (scene.keepsComparison)
        scene.shown = scene.compared = nullptr;
    else if (name == m_sceneName && challenge() == nullptr && !setsView && !m_desk.session().isModified())
        scene.shown = nullptr;
    m_seenStep.reset();
    m_sceneName = name;
    scene.asksForSlice = scene.asksForSlice && masks();
    if (auto pictures = picturesShownBy(*m_play, at); !pictures.empty())
        m_pictures = std::move(pictures);
    scene.asksForRanks = scene.asksForRanks && masks();
    beginBody();
    if (at == 0 && !m_onlyRemember && m_progress.isFinished(m_play->lesson())) {
        addText(tr("You have been through this lesson: your answers are kept."), "muted");
        addBeginAnew();
    }
    addText(fromUtf8(m_play->text(at)));
    for (const std::string& point : m_play->points(at))
        addText(QStringLiteral("→ ") + fromUtf8(point), "muted");
    if (!m_play->chart(at).empty())
        m_column->insertWidget(m_column->count() - 1, lessonChart(m_play->chart(at), m_body));
    linkTerms();
    if (const sim::AskedQuestion* asked = m_play->asked(at))
        buildQuestion(*asked);
    if (const sim::Challenge* goal = challenge())
        buildChallenge(*goal);
    showBody();
    updateButtons();
    Q_EMIT sceneChanged(scene);
    Q_EMIT limitChanged();
    m_isStartShown = isTriedThere || isStartShown();
    if (m_play->isDrawn(at) && committed())
        showDrawnCase();
    expectNext();
    updateChallenge();
    takeFocus();
}

double LessonPanel::secondsSpent() const
{
    return m_open.seconds + (m_sinceAsked.isValid() ? static_cast<double>(m_sinceAsked.elapsed()) * 1e-3 : 0);
}

void LessonPanel::keepOpen()
{
    if (!m_sinceAsked.isValid() || m_onlyRemember || !m_play || m_isAtEnd || m_play->id(m_at).empty() || committed())
        return;
    m_open.seconds = secondsSpent();
    m_sinceAsked.start();
    m_progress.keepOpen(m_play->lesson(), m_play->id(m_at), m_open);
}

/// Nobody is asked any more.
void LessonPanel::pause()
{
    keepOpen();
    m_sinceAsked.invalidate();
}

void LessonPanel::takeFocus()
{
    if (m_isAtEnd) {
        auto* following = m_body->findChild<QPushButton*>(QStringLiteral("following"));
        (following != nullptr ? static_cast<QWidget*>(following) : m_scroll)->setFocus();
    } else if (m_input != nullptr && masks()) {
        m_input->setFocus();
    } else if (isToSkip()) {
        m_scroll->setFocus(); // the Return that led here is not to skip it
    } else if (m_next->isEnabled()) {
        m_next->setFocus();
    }
}

/// Whether to go on is to leave a challenge aside.
bool LessonPanel::isToSkip() const
{
    return challenge() != nullptr && !committed();
}

/// Of a question from another lesson, when it has been answered; where it is of no case, the pictures that were there.
void LessonPanel::showDrawnCase()
{
    Q_EMIT sceneChanged(drawnScene());
}

LessonScene LessonPanel::drawnScene() const
{
    LessonScene scene;
    scene.shown = m_play->drawnCase(m_at);
    return scene;
}

/// While the step is read, the engine makes what comes with the next one, or with the answer.
void LessonPanel::expectNext()
{
    if (m_play->isDrawn(m_at) && !committed())
        return Q_EMIT sceneExpected(drawnScene());
    if (masks())
        if (const LessonScene answered = answeredSceneOf(*m_play, m_at); answered.shown != nullptr)
            return Q_EMIT sceneExpected(answered);
    const std::size_t next = m_seenStep.value_or(m_at) + 1;
    LessonScene scene = next < m_play->steps() ? sceneOf(*m_play, next) : LessonScene{};
    if (next < m_play->steps() && m_play->shownName(next) == m_sceneName && !m_play->step(next).challenge &&
        m_play->step(next).view.is_null())
        scene.shown = nullptr; // it stays
    Q_EMIT sceneExpected(scene);
}

/// Return chooses, commits, does what the button with the focus does; elsewhere it goes on where nothing is asked. A key that is
/// held does so once.
void LessonPanel::keyPressEvent(QKeyEvent* event)
{
    const bool isReturn = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (isReturn && event->isAutoRepeat())
        return;
    QWidget* const focused = focusWidget();
    if (isReturn && (qobject_cast<QPushButton*>(focused) != nullptr || qobject_cast<QToolButton*>(focused) != nullptr) &&
        focused->isEnabled() && focused->isVisible())
        return static_cast<QAbstractButton*>(focused)->click();
    if (isReturn && m_commit != nullptr && m_inputCard->isAncestorOf(focused)) {
        if (auto* option = qobject_cast<QRadioButton*>(focused); option != nullptr && !option->isChecked() && masks())
            return option->click(); // the first time chooses what arrows have reached
        if (m_commit->isEnabled())
            return commit();
        if (canCommit() && m_sure != nullptr) // what is still missing
            return m_sure->buttons().front()->setFocus();
    }
    if (isReturn && m_next->isVisible() && canGoOn() && (challenge() == nullptr || committed()))
        return next();
    QFrame::keyPressEvent(event);
}

/// An empty body, not in sight yet: what is put into a visible layout is shown piece by piece, and lays all out with each.
void LessonPanel::beginBody()
{
    m_input = nullptr;
    m_inputCard = nullptr;
    m_verdict = nullptr;
    m_sure = nullptr;
    m_commit = m_hint = nullptr;
    m_goalState = m_why = nullptr;
    m_ways = nullptr;
    m_hints = nullptr;
    m_body = new QWidget;
    // As high as its words are at its width; their least heights are those of the narrowest column, and would leave a gap below.
    m_body->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored);
    m_column = new QVBoxLayout(m_body);
    m_column->setContentsMargins(0, 4, 8, 8);
    m_column->setSpacing(10);
    m_column->addStretch();
}

/// In place of the one before.
void LessonPanel::showBody()
{
    m_scroll->setWidget(m_body);
    m_scroll->verticalScrollBar()->setValue(0);
}

void LessonPanel::addText(const QString& markdown, const char* role)
{
    for (const QString& paragraph : paragraphsOf(markdown))
        m_column->insertWidget(m_column->count() - 1, lessonParagraph(paragraph, role != nullptr ? role : "prose"));
}

void LessonPanel::tellUnkept(bool isKept)
{
    if (!isKept)
        addText(
            tr("Your answer cannot be written to %1. It counts while this window is open, and is written with a later one when "
               "that is possible.")
                .arg(m_progress.path()),
            "muted");
}

/// In the step's own words: a term opens the glossary.
void LessonPanel::linkTerms()
{
    for (QLabel* label : m_body->findChildren<QLabel*>(QString(), Qt::FindDirectChildrenOnly)) {
        const QString linked = withTerms(label->text(), m_terms);
        const bool isLinked = label->textInteractionFlags() == Qt::TextBrowserInteraction; // before the answer was given
        if (label->textFormat() != Qt::MarkdownText || isLinked || linked == label->text())
            continue;
        label->setText(linked);
        label->setTextInteractionFlags(Qt::TextBrowserInteraction);
        connect(label, &QLabel::linkActivated, this, [this](const QString& link) {
            const qsizetype at = link.startsWith(QLatin1String("term:")) ? link.mid(5).toLongLong() : -1;
            if (at >= 0 && at < std::ssize(m_terms))
                Q_EMIT termRequested(m_terms[static_cast<std::size_t>(at)].title);
        });
    }
}

void LessonPanel::updateButtons()
{
    if (m_waiting == m_at && !masks())
        m_waiting.reset();
    m_back->setEnabled(m_play && (m_at > 0 || m_isAtEnd));
    m_next->setEnabled(canGoOn());
    const bool isLast = m_play && m_at + 1 == m_play->steps();
    m_next->setText(isToSkip() ? tr("Skip") : isLast ? tr("Finish") : tr("Next"));
    setRole(m_next, isToSkip() ? "" : "primary");
    m_next->setVisible(!m_isAtEnd);
    m_count->setText(m_play ? tr("%1 of %2").arg(m_isAtEnd ? m_play->steps() : m_at + 1).arg(m_play->steps()) : QString());
    m_bar->setUpdatesEnabled(false); // it would paint the whole window at once, halfway through the step
    m_bar->setValue(m_play ? static_cast<int>(m_isAtEnd ? m_play->steps() : m_at) : 0);
    m_bar->setUpdatesEnabled(true);
    if (m_commit != nullptr) {
        const bool isSure = m_sure == nullptr || m_sure->checkedId() >= 0;
        m_commit->setEnabled(canCommit() && isSure);
        m_why->setText(canCommit() ? (isSure ? QString() : tr("Say how sure you are.")) : whyNoCommit());
    }
    const Hiding hiding{.numbers = hidesNumbers(), .asks = masks(), .isShown = showsWhatIsAsked(), .ahead = tellsAhead()};
    if (!(hiding == m_hiding)) {
        m_hiding = hiding;
        Q_EMIT maskChanged(hiding.numbers);
    }
}

/// A label's links keep the colour of the theme in which it was given its words.
void LessonPanel::changeEvent(QEvent* event)
{
    QFrame::changeEvent(event);
    if (event->type() != QEvent::PaletteChange)
        return;
    QMetaObject::invokeMethod(
        this,
        [this] { // once the labels have their palettes
            for (QLabel* label : findChildren<QLabel*>())
                if (const QString words = label->text();
                    label->textFormat() == Qt::MarkdownText && words.contains(QStringLiteral("]("))) {
                    label->setText({});
                    label->setText(words);
                }
        },
        Qt::QueuedConnection);
}

QString LessonPanel::text() const
{
    QStringList all{m_section->text(), m_title->text()};
    for (const QLabel* label : m_body->findChildren<QLabel*>())
        if (!label->isHidden())
            all << label->text();
    return all.join(QLatin1Char('\n')).replace(QChar(QChar::Nbsp), QLatin1Char(' '));
}

} // namespace app
