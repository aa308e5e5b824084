#include "app/lessons/record_window.h"

#include "app/canvas/qt/save_whole.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/save_file.h"
#include "app/shell/widgets/style.h"
#include "sim/lesson/check.h"
#include "sim/scenario/json_text.h"

#include <QCheckBox>
#include <QCloseEvent>
#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include <utility>

namespace app {

RecordWindow::RecordWindow(const sim::Catalogue& catalogue, std::function<std::optional<Now>()> now, QWidget* parent)
    : QDialog(parent), m_catalogue(catalogue), m_now(std::move(now)), m_title(new QLineEdit), m_breaks(new QLineEdit),
      m_ask(new QLineEdit), m_steps(new QListWidget), m_say(new QPlainTextEdit), m_notes(new QPlainTextEdit),
      m_metric(new ChoiceBox), m_kind(new ChoiceBox), m_add(new QPushButton(tr("Add Step"))), m_edit(new QPushButton(tr("Edit"))),
      m_remove(new QPushButton(tr("Remove"))), m_up(new QPushButton(tr("Up"))), m_down(new QPushButton(tr("Down"))),
      m_save(new QPushButton(tr("Save Lesson…"))), m_anew(new QCheckBox(tr("With what the window shows now"))), m_told(new QLabel)
{
    setWindowTitle(tr("Record a Lesson"));
    setModal(false);
    auto* how = new QLabel(tr("Put the window as it should be seen: scenario, pictures, lens, ranks. Then add the step."));
    how->setWordWrap(true);
    setRole(how, "muted");
    m_title->setPlaceholderText(tr("How long is the bubble?"));
    m_breaks->setPlaceholderText(tr("1F1B is faster than GPipe"));
    m_say->setPlaceholderText(tr("What is to be seen. **Bold** and live numbers, {case_1.peak_memory_gib|gib}, work here."));
    m_notes->setPlaceholderText(tr("For whoever presents it; only you see them"));
    for (QPlainTextEdit* edit : {m_say, m_notes}) {
        edit->setTabChangesFocus(true);
        edit->setFixedHeight(3 * fontMetrics().lineSpacing() + 16);
    }
    m_metric->addItem(tr("nothing: the step is only shown"));
    for (const sim::RecordedMetric& metric : sim::recordedMetrics())
        m_metric->addItem(QString::fromUtf8(metric.words.data(), static_cast<qsizetype>(metric.words.size())),
                          QString::fromUtf8(metric.name.data(), static_cast<qsizetype>(metric.name.size())));
    m_kind->addItem(tr("how much it is"));
    m_kind->addItem(tr("less, the same or more than in the step before"));
    m_ask->setPlaceholderText(tr("The question; without one it is made from what is asked for"));
    setRole(m_add, "primary");
    m_add->setDefault(true);
    m_told->setWordWrap(true);
    m_told->setTextFormat(Qt::PlainText);
    m_told->setTextInteractionFlags(Qt::TextSelectableByMouse);

    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->addRow(tr("Title"), m_title);
    form->addRow(tr("Breaks the belief"), m_breaks);
    setRole(m_steps, "field"); // else nobody sees where steps will come while there are none
    m_steps->setMinimumHeight(3 * fontMetrics().lineSpacing());
    form->addRow(tr("Steps"), m_steps);
    auto* change = new QHBoxLayout;
    for (QPushButton* button : {m_edit, m_up, m_down, m_remove})
        change->addWidget(button);
    change->addStretch();
    form->addRow(QString(), change);
    form->addRow(tr("Say"), m_say);
    form->addRow(tr("Notes"), m_notes);
    form->addRow(tr("First ask for"), m_metric);
    form->addRow(tr("Ask"), m_kind);
    form->addRow(tr("Question"), m_ask);
    auto* foot = new QHBoxLayout;
    foot->addWidget(m_add);
    foot->addWidget(m_anew);
    foot->addStretch();
    foot->addWidget(m_save);
    auto* column = new QVBoxLayout(this);
    column->addWidget(how);
    column->addLayout(form, 1);
    column->addWidget(m_told);
    column->addLayout(foot);
    m_steps->setAccessibleName(tr("Steps that are recorded"));
    m_told->setAccessibleName(tr("What the check says"));
    resize(520, sizeHint().boundedTo({0, 560}).height()); // low screens have its foot, too

    connect(m_add, &QPushButton::clicked, this, &RecordWindow::addStep);
    connect(m_edit, &QPushButton::clicked, this, &RecordWindow::editStep);
    connect(m_remove, &QPushButton::clicked, this, &RecordWindow::removeStep);
    connect(m_up, &QPushButton::clicked, this, [this] { moveStep(-1); });
    connect(m_down, &QPushButton::clicked, this, [this] { moveStep(1); });
    connect(m_save, &QPushButton::clicked, this, &RecordWindow::chooseFile);
    connect(m_steps, &QListWidget::currentRowChanged, this, &RecordWindow::updateButtons);
    connect(m_metric, &QComboBox::currentIndexChanged, this, &RecordWindow::updateButtons);
    connect(m_title, &QLineEdit::textChanged, this, &RecordWindow::updateButtons);
    updateButtons();
}

QString RecordWindow::told() const
{
    return m_told->text();
}

void RecordWindow::tell(const QString& text)
{
    m_told->setText(text);
}

void RecordWindow::addStep()
{
    if (m_isChecking)
        return;
    std::optional<Now> now;
    if (m_edited && !m_anew->isChecked()) {
        const sim::RecordedLessonStep& was = m_recording.steps[*m_edited];
        now = Now{was.shown, was.view};
    } else {
        now = m_now();
    }
    if (!now)
        return tell(tr("The window shows no scenario that can run: open one first."));
    sim::RecordedLessonStep step{std::move(now->shown),
                                 std::move(now->view),
                                 m_say->toPlainText().toStdString(),
                                 m_notes->toPlainText().toStdString(),
                                 {}};
    if (const QString metric = m_metric->currentData().toString(); !metric.isEmpty()) {
        using Kind = sim::RecordedQuestion::Kind;
        step.question = sim::RecordedQuestion{metric.toStdString(), m_kind->currentIndex() == 1 ? Kind::compared : Kind::number,
                                              m_ask->text().toStdString()};
    }
    sim::LessonRecording next = m_recording;
    const std::size_t place = m_edited.value_or(next.steps.size());
    if (m_edited)
        next.steps[place] = std::move(step);
    else
        next.steps.push_back(std::move(step));
    setChecking(true);
    m_worker.ask(
        0,
        [next, catalogue = m_catalogue] {
            QStringList wrong;
            for (const std::string& problem : next.problems(catalogue))
                wrong << QString::fromStdString(problem).trimmed();
            return wrong.join(QLatin1Char('\n'));
        },
        [this, next, place](const QString& wrong) { take(next, place, wrong); },
        [this](const QString& why) {
            setChecking(false);
            tell(why);
        });
}

/// What was checked.
void RecordWindow::take(const sim::LessonRecording& next, std::size_t place, const QString& wrong)
{
    setChecking(false);
    if (!wrong.isEmpty())
        return tell(wrong); // the words stay in their fields, to be mended
    const QString done = m_edited ? tr("Step %1 is changed.") : tr("Step %1 is added.");
    m_recording = next;
    m_isUnsaved = true;
    clearFields();
    listSteps();
    m_steps->setCurrentRow(static_cast<int>(place));
    tell(done.arg(place + 1));
}

/// The engine works out all steps, which may take seconds: the big window goes on meanwhile.
void RecordWindow::setChecking(bool checking)
{
    m_isChecking = checking;
    if (checking) {
        m_focused = focusWidget();
        tell(tr("The engine works out the steps…"));
    }
    for (QWidget* field : {static_cast<QWidget*>(m_title), static_cast<QWidget*>(m_breaks), static_cast<QWidget*>(m_steps),
                           static_cast<QWidget*>(m_say), static_cast<QWidget*>(m_notes), static_cast<QWidget*>(m_metric),
                           static_cast<QWidget*>(m_anew)})
        field->setEnabled(!checking);
    updateButtons();
    if (!checking && m_focused != nullptr && m_focused->isEnabled())
        m_focused->setFocus();
}

void RecordWindow::clearFields()
{
    m_edited.reset();
    m_anew->setChecked(false);
    const Draft draft = std::exchange(m_draft, {});
    m_say->setPlainText(draft.say);
    m_notes->setPlainText(draft.notes);
    m_ask->setText(draft.ask);
    m_metric->setCurrentIndex(draft.metric);
    m_kind->setCurrentIndex(draft.kind);
    updateButtons();
}

void RecordWindow::editStep()
{
    const int row = m_steps->currentRow();
    if (m_edited || row < 0) {
        if (m_edited)
            clearFields();
        return tell({});
    }
    m_draft = {m_say->toPlainText(), m_notes->toPlainText(), m_ask->text(), m_metric->currentIndex(), m_kind->currentIndex()};
    m_metric->setCurrentIndex(0);
    m_kind->setCurrentIndex(0);
    m_ask->clear();
    m_edited = static_cast<std::size_t>(row);
    const sim::RecordedLessonStep& step = m_recording.steps[*m_edited];
    m_say->setPlainText(QString::fromStdString(step.say));
    m_notes->setPlainText(QString::fromStdString(step.notes));
    if (step.question) {
        const sim::RecordedQuestion& asked = *step.question;
        m_metric->setCurrentIndex(m_metric->findData(QString::fromStdString(asked.metric)));
        m_kind->setCurrentIndex(asked.kind == sim::RecordedQuestion::Kind::compared ? 1 : 0);
        m_ask->setText(QString::fromStdString(asked.ask));
    }
    updateButtons();
    tell(tr("Step %1 is in the fields below.").arg(row + 1));
    m_say->setFocus();
}

void RecordWindow::removeStep()
{
    const int row = m_steps->currentRow();
    if (row < 0)
        return;
    if (m_edited)
        clearFields(); // else a new step is being typed
    m_recording.steps.erase(m_recording.steps.begin() + row);
    m_isUnsaved = true;
    listSteps();
    m_steps->setCurrentRow(std::min(row, m_steps->count() - 1));
}

void RecordWindow::moveStep(int by)
{
    const int row = m_steps->currentRow(), to = row + by;
    if (row < 0 || to < 0 || to >= m_steps->count())
        return;
    if (m_edited)
        clearFields();
    std::swap(m_recording.steps[static_cast<std::size_t>(row)], m_recording.steps[static_cast<std::size_t>(to)]);
    m_isUnsaved = true;
    listSteps();
    m_steps->setCurrentRow(to);
}

void RecordWindow::listSteps()
{
    m_steps->clear();
    for (std::size_t i = 0; i < m_recording.steps.size(); ++i) {
        const sim::RecordedLessonStep& step = m_recording.steps[i];
        const std::string name =
            sim::memberOr<std::string>(sim::LessonValue::parse(step.shown.text(), nullptr, false), "name", {});
        const QString what = QString::fromStdString(step.say.empty() ? name : step.say).simplified();
        const QString asks = step.question ? tr("asks, ") : QString();
        m_steps->addItem(QStringLiteral("%1. %2%3").arg(i + 1).arg(asks, what));
    }
    updateButtons();
}

void RecordWindow::updateButtons()
{
    const int row = m_steps->currentRow();
    const bool isFree = !m_isChecking;
    m_add->setEnabled(isFree);
    m_remove->setEnabled(isFree && row >= 0);
    m_edit->setEnabled(isFree && (row >= 0 || m_edited));
    m_edit->setText(m_edited ? tr("Keep as It Was") : tr("Edit"));
    m_add->setText(m_edited ? tr("Change Step %1").arg(*m_edited + 1) : tr("Add Step"));
    m_anew->setVisible(m_edited.has_value());
    m_up->setEnabled(isFree && row > 0);
    m_down->setEnabled(isFree && row >= 0 && row + 1 < m_steps->count());
    m_save->setEnabled(isFree && m_steps->count() > 0 && !m_title->text().trimmed().isEmpty());
    m_kind->setEnabled(isFree && m_metric->currentIndex() > 0);
    m_ask->setEnabled(isFree && m_metric->currentIndex() > 0);
}

void RecordWindow::chooseFile()
{
    const QString name = QString::fromStdString(sim::lessonIdOf(m_title->text().toStdString())) + QStringLiteral(".json");
    const QString path = chooseSaveFile(this, tr("Save Lesson"), name, tr("Lessons (*.json)"));
    if (path.isEmpty())
        return;
    saveTo(path);
}

void RecordWindow::saveTo(const QString& path)
{
    m_recording.title = m_title->text().trimmed().toStdString();
    m_recording.breaks = m_breaks->text().trimmed().toStdString();
    m_isUnsaved = true; // until it is written
    setChecking(true);
    m_worker.ask(
        0, [recording = m_recording, path, catalogue = m_catalogue] { return write(recording, path, catalogue); },
        [this, path](const Written& written) {
            setChecking(false);
            tell(written.told);
            if (!written.isWritten)
                return;
            m_isUnsaved = false;
            Q_EMIT saved(path);
        },
        [this](const QString& why) {
            setChecking(false);
            tell(why);
        });
}

RecordWindow::Written RecordWindow::write(const sim::LessonRecording& recording, const QString& path,
                                          const sim::Catalogue& catalogue)
{
    Written out;
    QStringList told;
    try {
        const sim::LessonValue file = recording.file(sim::lessonIdOf(recording.title), catalogue);
        const std::string text = sim::prettyText(file), name = path.toStdString();
        const auto problems = sim::checkLesson(sim::parseLesson(text, name, catalogue), catalogue);
        saveWhole(path, QByteArray::fromStdString(text)); // also with problems: the work is not lost
        out.isWritten = true;
        for (const sim::Problem& problem : problems)
            told << QString::fromStdString(recording.inRecordedWords(problem)).trimmed();
        if (told.isEmpty())
            told << tr("Saved. The check finds nothing wrong.");
    } catch (const sim::ScenarioError& error) {
        for (const sim::Problem& problem : error.problems())
            told << QString::fromStdString(recording.inRecordedWords(problem)).trimmed();
    }
    out.told = told.join(QLatin1Char('\n'));
    return out;
}

/// Words that no step and no file has.
bool RecordWindow::hasTyped() const
{
    const auto differ = [](const QString& typed, const std::string& kept) {
        return typed.trimmed() != QString::fromStdString(kept).trimmed();
    };
    if (differ(m_title->text(), m_recording.title) || differ(m_breaks->text(), m_recording.breaks))
        return true;
    const sim::RecordedLessonStep* step = m_edited ? &m_recording.steps[*m_edited] : nullptr;
    if (step != nullptr && (differ(m_draft.say, {}) || differ(m_draft.notes, {}) || differ(m_draft.ask, {})))
        return true;
    return differ(m_say->toPlainText(), step != nullptr ? step->say : std::string()) ||
           differ(m_notes->toPlainText(), step != nullptr ? step->notes : std::string()) ||
           differ(m_ask->text(), step != nullptr && step->question ? step->question->ask : std::string());
}

bool RecordWindow::mayLose()
{
    if (!hasUnsaved())
        return true;
    const QString asked = m_isUnsaved ? tr("Give up the steps that were recorded?") : tr("Give up the words that were typed?");
    return QMessageBox::question(this, tr("Record a Lesson"), asked, QMessageBox::Discard | QMessageBox::Cancel,
                                 QMessageBox::Cancel) == QMessageBox::Discard;
}

void RecordWindow::closeEvent(QCloseEvent* event)
{
    if (!mayLose())
        return event->ignore();
    m_isUnsaved = false;
    event->accept(); // a dialog's own would reject(), which closes: it would come here and stay open
}

void RecordWindow::reject()
{
    close();
}

} // namespace app
