#include "app/shell/dialogs/settings_import_dialog.h"

#include "app/session/edit.h"
#include "app/session/plain_words.h"
#include "app/session/scenario_name.h"
#include "app/session/scenario_state.h"
#include "app/shell/widgets/choice_box.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/style.h"

#include <QAbstractTableModel>
#include <QComboBox>
#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace app {
namespace {

constexpr std::array kFates{sim::Became::used,          sim::Became::byDefault,
                            sim::Became::harmless,      sim::Became::notRepresentable,
                            sim::Became::contradictory, sim::Became::unknown};
constexpr int kNeedsALook = -1, kEach = -2; ///< of the filter, beside the fates
constexpr int kMargin = 24, kSpacing = 10;
constexpr std::array kWidestColumns{220, 110, 120, 90}; ///< of the columns but the last, which has the rest
constexpr std::array kMostPercent{22, 13, 13, 12};      ///< of the table: what there is to say needs the most
constexpr int kBesideNote = 16, kAroundNote = 6;        ///< beside the text, as the style sheet has it, and above and below
constexpr int kShortestChoice = 16; ///< characters, on small screens; elsewhere names of models and clusters are shown whole

/// "tensor-parallel.sh:12"; "line 12" where there is one file; empty for what stands in none.
QString placeOf(const sim::Note& note)
{
    const QString line = note.line > 0 ? QString::number(note.line) : QString();
    if (note.file.empty())
        return line.isEmpty() ? line : QObject::tr("line %1").arg(line);
    const QString file = beginningOf(note.file.substr(note.file.find_last_of('/') + 1));
    return line.isEmpty() ? file : file + QLatin1Char(':') + line;
}

/// What it means: the key, and what there is to say about it.
QString meaningOf(const sim::Note& note)
{
    QString key;
    if (!note.pointer.empty()) {
        const ScenarioKey* known = findScenarioKey(note.pointer);
        key = known ? QObject::tr(known->label) : asSentence(plainWords(QString::fromStdString(note.pointer)));
    }
    const QString text = beginningOf(withoutFlags(note.text));
    return key.isEmpty() ? text : text.isEmpty() ? key : QStringLiteral("%1: %2").arg(key, text);
}

/// Rows as high as their wrapped texts: the style forgets the margins when it wraps.
class NoteDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        QStyleOptionViewItem narrower(option);
        narrower.rect.setWidth(option.rect.width() - kBesideNote);
        return QStyledItemDelegate::sizeHint(narrower, index) + QSize(0, kAroundNote);
    }
};

/// Shows every note whole: its columns narrow with it.
class NotesTable : public QTableView {
public:
    NotesTable()
    {
        setRole(this, "table");
        verticalHeader()->hide();
        verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
        setShowGrid(false);
        setItemDelegate(new NoteDelegate(this));
        setVerticalScrollMode(ScrollPerPixel);
        setSelectionBehavior(SelectRows);
        horizontalHeader()->setStretchLastSection(true);
        horizontalHeader()->setHighlightSections(false);
        connect(horizontalHeader(), &QHeaderView::sectionResized, this, &QTableView::resizeRowsToContents);
    }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        for (std::size_t column = 0; column < kWidestColumns.size(); ++column)
            setColumnWidth(static_cast<int>(column),
                           std::min(kWidestColumns[column], viewport()->width() * kMostPercent[column] / 100));
        QTableView::resizeEvent(event);
    }
};

} // namespace

/// Notes as rows: those of one fate, or all.
class SettingsNotes : public QAbstractTableModel {
public:
    using QAbstractTableModel::QAbstractTableModel;
    void setNotes(const SettingsImport& settings, int filter)
    {
        beginResetModel();
        m_notes.clear();
        for (const sim::Note& note : settings.notes())
            if (filter == kEach || (filter == kNeedsALook ? settings.needsALook(note) : static_cast<int>(note.became) == filter))
                m_notes.push_back(note);
        endResetModel();
    }
    int rowCount(const QModelIndex& parent) const override { return parent.isValid() ? 0 : static_cast<int>(m_notes.size()); }
    int columnCount(const QModelIndex& parent) const override { return parent.isValid() ? 0 : kColumns; }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (role != Qt::DisplayRole && role != Qt::ToolTipRole)
            return {};
        const sim::Note& note = m_notes[static_cast<std::size_t>(index.row())];
        switch (index.column()) {
        case 0:
            return beginningOf(note.setting);
        case 1:
            return beginningOf(note.value);
        case 2:
            return becameText(note.became);
        case 3:
            return placeOf(note);
        default:
            return meaningOf(note);
        }
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal)
            return {};
        if (role == Qt::TextAlignmentRole)
            return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
        const std::array names{tr("Setting"), tr("Value"), tr("Became"), tr("Place"), tr("Here")};
        return role == Qt::DisplayRole ? QVariant(names[static_cast<std::size_t>(section)]) : QVariant();
    }

private:
    static constexpr int kColumns = 5;
    std::vector<sim::Note> m_notes;
};

SettingsImportDialog::SettingsImportDialog(SettingsImport import, QWidget* parent)
    : QDialog(parent), m_import(std::move(import)), m_result(new QLabel), m_problems(new QLabel),
      m_open(new QPushButton(tr("Open"))), m_filter(new ChoiceBox), m_notes(new SettingsNotes(this))
{
    setWindowTitle(tr("Import Settings"));
    setAttribute(Qt::WA_DeleteOnClose);
    const sim::FrameworkKind& kind = m_import.kind();
    auto* heading =
        new QLabel(tr("Read as %1").arg(QString::fromUtf8(kind.name.data(), static_cast<qsizetype>(kind.name.size()))));
    setRole(heading, "heading");
    auto* versions = new QLabel(tr("Versions that are known: %1. No code of a file is run.")
                                    .arg(QString::fromUtf8(kind.versions.data(), static_cast<qsizetype>(kind.versions.size()))));
    setRole(versions, "small");
    versions->setWordWrap(true);

    auto* became = new QLabel(tr("WHAT BECAME OF EACH SETTING"));
    setRole(became, "section");
    m_filter->setAccessibleName(tr("Settings that are listed"));
    auto* table = new NotesTable;
    table->setModel(m_notes);
    table->setAccessibleName(tr("Settings"));

    setRole(m_result, "strong");
    m_result->setWordWrap(true);
    setRole(m_problems, "error");
    m_problems->setWordWrap(true);
    setRole(m_open, "primary");
    m_open->setDefault(true);
    auto* cancel = new QPushButton(tr("Cancel"));
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(m_open, &QPushButton::clicked, this, [this] {
        Q_EMIT chosen(m_import.document());
        accept();
    });
    connect(m_filter, &QComboBox::currentIndexChanged, this, &SettingsImportDialog::filterChanged);

    auto* tableHead = new QHBoxLayout;
    tableHead->addWidget(became);
    tableHead->addStretch(1);
    tableHead->addWidget(m_filter);
    auto* foot = new QHBoxLayout;
    foot->setSpacing(kSpacing);
    foot->addWidget(m_result, 1);
    foot->addWidget(cancel);
    foot->addWidget(m_open);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    column->setSpacing(kSpacing);
    column->addWidget(heading);
    column->addWidget(versions);
    if (!m_import.questions().empty())
        column->addWidget(questions());
    column->addLayout(tableHead);
    column->addWidget(table, 1);
    column->addWidget(m_problems);
    column->addLayout(foot);
    constexpr QSize kSize{860, 600};
    resize(kSize);
    fillFilter();
    showReasons();
    showResult();
}

QWidget* SettingsImportDialog::questions()
{
    auto* box = new QWidget;
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(kSpacing);
    auto* title = new QLabel(tr("WHAT THE FILES DO NOT SAY"));
    setRole(title, "section");
    grid->addWidget(title, 0, 0, 1, 2);
    for (const SettingsQuestion& question : m_import.questions()) {
        auto* label = new QLabel(question.label);
        auto* why = new QLabel;
        why->setWordWrap(true);
        QWidget* input = inputOf(question);
        input->setAccessibleName(question.label);
        m_fields[question.pointer] = {.input = input, .why = why, .wanted = {}, .refused = {}};
        label->setBuddy(input);
        const int row = grid->rowCount();
        grid->addWidget(label, row, 0);
        grid->addWidget(input, row, 1);
        grid->addWidget(why, row + 1, 1); // beside the other it would cut it on small screens
    }
    grid->setColumnStretch(1, 1);
    return box;
}

QWidget* SettingsImportDialog::inputOf(const SettingsQuestion& question)
{
    if (question.options.empty()) {
        auto* number = new QSpinBox;
        setRole(number, "field");
        number->setProperty("arrows", true);
        number->setRange(1, std::numeric_limits<int>::max());
        number->setGroupSeparatorShown(true);
        number->setKeyboardTracking(false);
        number->setButtonSymbols(QAbstractSpinBox::NoButtons);
        number->setValue(QString::fromStdString(question.value).toInt());
        connect(number, &QSpinBox::valueChanged, this,
                [this, pointer = question.pointer](int value) { answer(pointer, std::to_string(value)); });
        return number;
    }
    auto* choice = new ChoiceBox;
    choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (const KeyOption& option : question.options) {
        choice->addItem(QString::fromStdString(option.text), QString::fromStdString(option.json));
        if (option.json == question.value)
            choice->setCurrentIndex(choice->count() - 1);
    }
    choice->setMinimumContentsLength(kShortestChoice);
    choice->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(choice, &QComboBox::currentIndexChanged, this,
            [this, choice, pointer = question.pointer] { answer(pointer, choice->currentData().toString().toStdString()); });
    return choice;
}

/// What was refused may be right beside it: all together, else each for itself.
void SettingsImportDialog::answer(const std::string& pointer, const std::string& value)
{
    m_fields.at(pointer).wanted = value;
    std::map<std::string, std::string> refused, all{{pointer, value}};
    for (const auto& [other, field] : m_fields)
        if (other != pointer && !field.refused.isEmpty())
            refused[other] = field.wanted;
    all.insert(refused.begin(), refused.end());
    if (!take(all) && !refused.empty()) {
        take({{pointer, value}});
        for (const auto& one : refused)
            take({one});
    }
    fillFilter();
    showResult();
    showReasons();
}

bool SettingsImportDialog::take(const std::map<std::string, std::string>& values)
{
    QString refused;
    try {
        m_import.answer(values);
    } catch (const sim::Error& error) {
        refused = QString::fromUtf8(error.what());
    }
    for (const auto& one : values)
        m_fields.at(one.first).refused = refused;
    return refused.isEmpty();
}

/// Below each field why it is asked, or why what stands in it cannot be. A click on Open, or Enter, first ends the typing: what
/// is refused then does not open with something else.
void SettingsImportDialog::showReasons()
{
    bool anyRefused = false;
    for (const SettingsQuestion& question : m_import.questions()) {
        const Field& field = m_fields.at(question.pointer);
        const bool isRefused = !field.refused.isEmpty();
        const QString text = isRefused ? field.refused : question.why;
        anyRefused = anyRefused || isRefused;
        setRole(field.why, isRefused ? "error" : "small");
        field.why->setText(text);
        field.why->setHidden(text.isEmpty());
        field.input->setAccessibleDescription(text);
    }
    m_open->setEnabled(!anyRefused);
}

/// Each fate with how many settings have it; those that need a look first, if there are any.
void SettingsImportDialog::fillFilter()
{
    const QVariant before = m_filter->currentData();
    const auto& notes = m_import.notes();
    const auto count = [&](auto&& matches) {
        return separated(static_cast<std::int64_t>(std::count_if(notes.begin(), notes.end(), matches)));
    };
    const auto needsALook = [&](const sim::Note& note) { return m_import.needsALook(note); };
    m_filter->blockSignals(true);
    m_filter->clear();
    m_filter->addItem(tr("Needs a look: %1").arg(count(needsALook)), kNeedsALook);
    m_filter->addItem(tr("All: %1").arg(separated(static_cast<std::int64_t>(notes.size()))), kEach);
    for (const sim::Became fate : kFates)
        m_filter->addItem(tr("%1: %2").arg(becameText(fate), count([&](const sim::Note& note) { return note.became == fate; })),
                          static_cast<int>(fate));
    const bool anyNeedsALook = std::any_of(notes.begin(), notes.end(), needsALook);
    m_filter->setCurrentIndex(before.isValid() ? m_filter->findData(before) : anyNeedsALook ? 0 : 1);
    m_filter->blockSignals(false);
    filterChanged();
}

void SettingsImportDialog::filterChanged()
{
    m_notes->setNotes(m_import, m_filter->currentData().toInt());
}

void SettingsImportDialog::showResult()
{
    const auto& resolved = m_import.resolved();
    m_result->setText(resolved.scenario ? layoutLine(resolved.scenario->layout).simplified()
                                        : tr("It opens with what is wrong marked in the form."));
    QStringList lines;
    constexpr std::size_t kMostShown = 3;
    for (const sim::Problem& problem : resolved.problems)
        if (problem.severity == sim::Severity::error && lines.size() < static_cast<qsizetype>(kMostShown))
            lines << plainWords(
                beginningOf(problem.pointer.empty() ? problem.message : problem.pointer + ": " + problem.message));
    m_problems->setText(lines.join(QLatin1Char('\n')));
    m_problems->setVisible(!lines.isEmpty());
}

} // namespace app
