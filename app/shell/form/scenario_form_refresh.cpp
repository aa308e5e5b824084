// The scenario form's other half: how it is put together, and how what the session says comes back to its rows.
#include "app/session/reset.h"
#include "app/shell/form/lines_area.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/form/value_rows.h"
#include "app/shell/widgets/fold_section.h"
#include "app/shell/widgets/held_layouts.h"
#include "app/shell/widgets/style.h"
#include "sim/schedule/families/families.h"

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QShortcut>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <set>
#include <utility>

namespace app {
namespace {

constexpr int kFormSide = 12, kSideWithGutter = 4, kFormScrollBar = 10, kBetweenFormRows = 6;
constexpr int kHelpHeight = 80, kLowForm = 400;                    ///< about; in a low form help is low too, and scrolls
constexpr int kLowHelpHeight = 44, kAboveHelp = 7, kBelowHelp = 6; ///< its border is above
constexpr int kLowestForm = 180; ///< in a lower one there is no room for help: hints at the pointer say the same

} // namespace

ScenarioForm::ScenarioForm(Session& session, QWidget* parent)
    : QWidget(parent), m_session(session), m_search(new QLineEdit(this)), m_whatIf(new QToolButton(this)),
      m_whatIfMenu(new QMenu(this)), m_area(new QScrollArea(this)), m_general(new QLabel(this)), m_nothingFound(new QLabel(this)),
      m_limited(new QLabel(this)), m_helpPlace(new QWidget(this)), m_helpArea(new LinesArea), m_help(new QLabel(this))
{
    build();
    connect(&m_session, &Session::opened, this, &ScenarioForm::takeFile);
    connect(&m_session, &Session::opened, this, &ScenarioForm::forgetLegalValues);
    // What was looked for was a setting of another; set, not cleared, so that undoing does not bring it back.
    connect(&m_session, &Session::opened, m_search, [this] { m_search->setText({}); });
    // Another scenario begins at its beginning; the same file, read again, stays where it is.
    connect(&m_session, &Session::opened, m_area, [this] {
        if (m_session.path().isEmpty() || m_session.path() != m_path)
            m_area->verticalScrollBar()->setValue(0);
    });
    connect(&m_session, &Session::fileChanged, this, [this] { m_path = m_session.path(); });
    connect(&m_session, &Session::fileChanged, this, &ScenarioForm::takeFile);
    connect(&m_session, &Session::changed, this, &ScenarioForm::refresh);
    connect(&m_session.undoStack(), &QUndoStack::indexChanged, this, &ScenarioForm::followHistory);
}

void ScenarioForm::build()
{
    m_search->setPlaceholderText(tr("Find a setting"));
    m_search->setAccessibleName(tr("Find a setting"));
    m_search->setAccessibleDescription(
        tr("By its name or its key in the file; where none is called so, by a word of its description"));
    m_search->setClearButtonEnabled(true);
    auto* clear = new QShortcut(Qt::Key_Escape, m_search, m_search, &QLineEdit::clear, Qt::WidgetShortcut);
    clear->setEnabled(false); // with nothing typed Esc is the window's
    connect(m_search, &QLineEdit::textChanged, clear, [clear](const QString& text) { clear->setEnabled(!text.isEmpty()); });
    connect(m_search, &QLineEdit::textChanged, this, &ScenarioForm::refreshVisibility);
    m_whatIf->setText(tr("What if…"));
    m_whatIf->setToolTip(tr("Common changes, each in one step"));
    m_whatIf->setAccessibleDescription(m_whatIf->toolTip());
    m_whatIf->setPopupMode(QToolButton::InstantPopup);
    m_whatIf->setFocusPolicy(Qt::StrongFocus);
    m_whatIf->setMenu(m_whatIfMenu);
    m_whatIfMenu->setToolTipsVisible(true);
    setRole(m_whatIf, "button");
    connect(m_whatIfMenu, &QMenu::aboutToShow, this, &ScenarioForm::fillWhatIf);

    auto* top = new QHBoxLayout;
    top->setContentsMargins(kSideWithGutter + kRowGutter, 2, kFormSide + kFormScrollBar, 6);
    top->setSpacing(8);
    top->addWidget(m_search, 1);
    top->addWidget(m_whatIf);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->setSpacing(0);
    outer->addLayout(top);
    m_limited->setWordWrap(true);
    m_limited->setContentsMargins(kSideWithGutter + kRowGutter, 0, kFormSide, 6);
    m_limited->hide();
    setRole(m_limited, "muted12");
    outer->addWidget(m_limited);
    outer->addWidget(m_area, 1);
    outer->addWidget(m_helpPlace);
    setRole(m_helpPlace, "foot");
    m_helpPlace->setAttribute(Qt::WA_StyledBackground);
    auto* aroundHelp = new QVBoxLayout(m_helpPlace);
    aroundHelp->setContentsMargins(0, kAboveHelp, 0, kBelowHelp);
    aroundHelp->addWidget(m_helpArea);
    setRole(this, "form");
    setAttribute(Qt::WA_StyledBackground);

    setRole(m_help, "help");
    m_help->setText(tr("What a setting means, and which values it may have, stands here while it has the focus."));
    m_help->setTextFormat(Qt::PlainText);
    m_help->setWordWrap(true);
    m_help->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_help->setIndent(0); // a label's own would be above the first line, too
    m_helpArea->setWidget(m_help);
    m_helpArea->setWidgetResizable(true);
    m_helpArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_helpArea->setFrameShape(QFrame::NoFrame);
    m_helpArea->setFocusPolicy(Qt::NoFocus);
    m_helpArea->setAccessibleName(tr("About the setting in focus"));
    m_helpArea->setObjectName(QStringLiteral("formHelp"));

    // The page is in its place before it has rows: moved with them, it would have all of them styled again.
    auto* page = new QWidget(this);
    auto* column = new QVBoxLayout(page);
    m_area->setWidgetResizable(true);
    m_area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_area->setFrameShape(QFrame::NoFrame);
    m_area->setFocusPolicy(Qt::NoFocus); // the rows in it have the keyboard, and it scrolls with them
    m_area->setWidget(page);
    column->setContentsMargins(kSideWithGutter, 4, kFormSide, kFormSide);
    column->setSpacing(kBetweenFormRows);
    for (QLabel* label : {m_general, m_nothingFound}) {
        label->setWordWrap(true);
        label->setContentsMargins(kRowGutter, 0, 0, 0);
        label->hide();
        column->addWidget(label);
    }
    setRole(m_nothingFound, "muted");

    QVBoxLayout* into = column;
    for (const FormPart& part : formParts()) {
        if (part.fold) {
            into = column;
            if (*part.fold != '\0') {
                auto* fold = new FoldSection(tr(part.fold), part.isOpen);
                connect(fold, &FoldSection::toggled, this, &ScenarioForm::refreshVisibility);
                connect(fold, &FoldSection::placed, this, &ScenarioForm::placeRows);
                m_folds.emplace_back(&part, fold);
                column->addWidget(fold);
                into = fold->body();
            }
        }
        if (part.section == KeySection::modelDetails)
            addBackToBase("/model", into);
        if (part.section == KeySection::gpu) {
            addBackToBase("/cluster", into);
            addBackToBase("/cluster/gpu", into);
        }
        addPart(part, into);
    }
    column->addStretch();
    static_cast<ChoiceRow*>(rowAt("/model"))->setNameIfMissing(tr("Own model"));
    static_cast<ChoiceRow*>(rowAt("/cluster"))->setNameIfMissing(tr("Own cluster"));
    static_cast<ChoiceRow*>(rowAt("/cluster/gpu"))->setNameIfMissing(tr("Own GPU"));
    placeRows();
}

void ScenarioForm::takeFile()
{
    m_file.reset();
    if (m_session.isOpen() && m_session.savedDocument())
        m_file.emplace(*m_session.savedDocument(), m_session.savedScenario(), m_session.catalogue());
    if (m_session.isOpen() && !m_rows.empty())
        refreshMarks();
}

void ScenarioForm::refresh()
{
    if (!m_session.isOpen())
        return;
    const HeldLayouts held(*this); // each row that comes or goes would lay all out anew
    const ScenarioState now = state();
    refreshLists(now);
    for (FormRow* row : m_order) {
        if (row->refused() && !isStillRefused(now, *row)) // by what the GPUs were before
            row->leaveTyped();
        row->setJson(now.at(row->pointer()));
        row->awaitLegalValues();
    }
    refreshWords(now);
    refreshProblems();
    refreshMarks();
    refreshVisibility();
}

/// Undo and redo take what was typed and not taken along; a new step leaves it. A step tells of its change before the history
/// has gone to its place.
void ScenarioForm::followHistory()
{
    const quint64 before = std::exchange(m_place, m_session.placeInHistory());
    const bool isNew = m_place > m_newestPlace;
    m_newestPlace = std::max(m_newestPlace, m_place);
    const auto hasTyped = [](const FormRow* row) { return row->refused() || row->hasProblem(); };
    if (isNew || m_place == before || std::none_of(m_order.begin(), m_order.end(), hasTyped))
        return;
    for (FormRow* row : m_order)
        row->leaveTyped();
    refresh();
}

void ScenarioForm::refreshWords(const ScenarioState& now)
{
    for (const auto& [block, button] : m_backs) {
        const auto edit = makeBackToBaseEdit(now, block);
        button->setVisible(edit.has_value());
        if (edit) {
            const QString text = QString::fromStdString(edit->text);
            button->setText(text.at(0).toUpper() + text.mid(1));
            button->setAccessibleDescription(tr("Takes off what was changed of it"));
        }
    }
    const sim::Scenario* s = m_session.shownValues();
    const bool isOfNow = s && (m_session.isLegal() || !m_session.scenario()); // else it is of the values before
    rowAt(Control::nodes)->setNote(isOfNow ? clusterNote(*s) : QString());
    rowAt(Control::globalBatchSize)->setNote(isOfNow ? batchNote(*s) : QString());
    const sim::ScheduleFamily* family = isOfNow ? sim::findScheduleFamily(s->schedule.kind) : nullptr;
    rowAt("/schedule/kind")
        ->setNote(family ? QString::fromUtf8(family->character.data(), static_cast<qsizetype>(family->character.size()))
                         : QString());
    rowAt("/model")->setNote(makeBackToBaseEdit(now, "/model") ? tr("changed in its details") : QString());
    for (const auto& [part, fold] : m_folds)
        fold->header()->setSummary(isOfNow ? part->summary(*s) : QStringList());
}

void ScenarioForm::refreshMarks()
{
    const ScenarioState now = state();
    std::map<const FoldSection*, bool> isMarked;
    for (FormRow* row : m_order) {
        const bool changed = m_file && isChanged(now, *m_file, row->pointer());
        row->setFileText(changed ? QString::fromStdString(fileText(*m_file, row->pointer())) : QString());
        for (const auto& [part, fold] : m_folds) {
            if (changed && fold->holds(row))
                isMarked[fold] = true;
        }
    }
    for (const auto& [part, fold] : m_folds)
        fold->header()->setMarked(isMarked[fold]);
    refreshLimit(); // what was changed can be put back
}

void ScenarioForm::limitTo(FormLimit limit)
{
    if (!limit.allows && !m_limit.allows)
        return;
    m_limit = std::move(limit);
    m_limited->setText(m_limit.why);
    m_limited->setVisible(!m_limit.why.isEmpty());
    refreshLimit();
    refreshVisibility();
    m_scrollsWhenShown = !isVisible();
    if (!m_scrollsWhenShown)
        scrollToAllowed();
}

void ScenarioForm::refreshLimit()
{
    for (FormRow* row : m_order)
        row->setLimit(m_limit.may(row->pointer()), m_limit.why);
    for (const Group& group : m_groups)
        if (group.heading)
            group.heading->setEnabled(
                std::any_of(group.rows.begin(), group.rows.end(), [](const FormRow* row) { return row->isEnabled(); }));
    for (const auto& [block, back] : m_backs)
        back->setEnabled(m_limit.may(block));
    m_compareSchedules->setEnabled(m_limit.may("/schedule/kind"));
    m_addPerturbation->setEnabled(m_limit.may(std::string(kPerturbations)));
}

/// The rows have their places once what opened is laid out.
void ScenarioForm::scrollTo(FormRow* row)
{
    QTimer::singleShot(0, row, [this, row] {
        m_area->widget()->layout()->activate();
        const int top = row->mapTo(m_area->widget(), QPoint(0, 0)).y();
        m_area->verticalScrollBar()->setValue(std::max(0, top - m_area->viewport()->height() / 4));
    });
}

void ScenarioForm::scrollToAllowed()
{
    if (!m_limit.allows)
        return;
    const auto first = std::ranges::find_if(m_order, [](const FormRow* row) { return row->mayBeChanged() && !row->isHidden(); });
    if (first != m_order.end())
        scrollTo(*first);
}

void ScenarioForm::lead(std::string_view pointer)
{
    m_search->setText({}); // undoing does not bring it back
    const auto found = std::ranges::find_if(m_order, [&](const FormRow* row) {
        const std::string_view at = row->pointer();
        return !row->isHidden() && at.starts_with(pointer) && (at.size() == pointer.size() || at[pointer.size()] == '/');
    });
    if (found == m_order.end())
        return;
    for (const auto& [part, fold] : m_folds)
        if (fold->isAncestorOf(*found))
            fold->setOpen(true);
    m_scrollsWhenShown = false;
    scrollTo(*found);
    (*found)->focusOrder().front()->setFocus(Qt::ShortcutFocusReason);
}

void ScenarioForm::refreshProblems()
{
    m_shownProblems.clear();
    std::map<std::string, bool> isError;
    for (const sim::Problem& problem : m_session.problems()) {
        std::string at = problem.pointer; // the nearest row around it has it
        while (!at.empty() && !m_rows.contains(at))
            at.erase(at.rfind('/') == std::string::npos ? 0 : at.rfind('/'));
        const bool isOfRow = at == problem.pointer && !at.empty(); // which says it in plain words itself
        const std::string where = problem.pointer.empty() || isOfRow ? std::string() : problem.pointer + ": ";
        const QString said = QString::fromStdString(where + problem.message);
        const QString text = isOfRow ? said : plainWords(said);
        QString& shown = m_shownProblems[at];
        shown += shown.isEmpty() ? text : QStringLiteral(".\n") + asSentence(text); // a row begins its first one itself
        isError[at] = isError[at] || problem.severity == sim::Severity::error;
    }
    m_general->setText(problemAt({}));
    m_general->setVisible(!m_general->text().isEmpty());
    setRole(m_general, isError[{}] ? "error" : "warning");
    for (FormRow* row : m_order)
        row->setProblem(problemAt(row->pointer()), isError[row->pointer()]);
}

bool ScenarioForm::isRelevant(const FormRow& row) const
{
    const sim::Scenario* s = m_session.shownValues();
    return !row.key().isRelevant || !s || row.key().isRelevant(*s) || row.hasProblem();
}

void ScenarioForm::refreshVisibility()
{
    const QString typed = m_search->text().trimmed();
    const auto isNamed = [&](const FormRow* row) { return isRelevant(*row) && row->isNamed(typed); };
    const auto isSection = [&](const FormPart& part) {
        return !typed.isEmpty() && tr(part.fold).contains(typed, Qt::CaseInsensitive);
    };
    const auto saysTyped = [&](const QString& text) { return !typed.isEmpty() && text.contains(typed, Qt::CaseInsensitive); };
    std::set<const FormRow*> ofGroup; // that is called so: "Jitter"
    for (const Group& group : m_groups)
        if (saysTyped(group.name))
            ofGroup.insert(group.rows.begin(), group.rows.end());
    const bool byName = !typed.isEmpty() && std::any_of(m_order.begin(), m_order.end(), isNamed); // else by what is said of them
    // What is not there yet has no row: by what can be added, and what is said of it.
    const bool isToBeAdded =
        std::any_of(m_addable.begin(), m_addable.end(), saysTyped) ||
        (!byName && std::ranges::any_of(scenarioKeys(), [&](const ScenarioKey& key) {
            return key.section == KeySection::perturbations &&
                   (saysTyped(tr(key.label)) ||
                    saysTyped(QString::fromUtf8(key.pointer.data(), static_cast<qsizetype>(key.pointer.size()))));
        }));
    bool isAnyShown = false, isAnyWithoutEffect = false;
    std::map<const FoldSection*, bool> hasShown, hasProblem, hasAllowed;
    for (FormRow* row : m_order) {
        const bool isOfSection = std::any_of(m_folds.begin(), m_folds.end(),
                                             [&](const auto& one) { return isSection(*one.first) && one.second->holds(row); });
        const bool matches =
            typed.isEmpty() || ofGroup.contains(row) || (byName ? row->isNamed(typed) : row->isDescribed(typed) || isOfSection);
        const bool isShown = matches && isRelevant(*row);
        row->setVisible(isShown);
        isAnyShown = isAnyShown || isShown;
        isAnyWithoutEffect = isAnyWithoutEffect || (matches && !isShown);
        for (const auto& [part, fold] : m_folds) {
            if (!fold->holds(row))
                continue;
            hasAllowed[fold] = hasAllowed[fold] || (m_limit.allows && isShown && row->mayBeChanged());
            hasShown[fold] = hasShown[fold] || isShown;
            hasProblem[fold] = hasProblem[fold] || row->hasProblem();
        }
    }
    for (const Group& group : m_groups) {
        if (group.heading)
            group.heading->setVisible(
                std::any_of(group.rows.begin(), group.rows.end(), [](const FormRow* r) { return !r->isHidden(); }));
    }
    for (const auto& [part, fold] : m_folds) {
        const bool holdsMenu = isToBeAdded && part->section == KeySection::perturbations;
        isAnyShown = isAnyShown || holdsMenu;
        fold->setVisible(typed.isEmpty() || hasShown[fold] || holdsMenu);
        fold->setForcedOpen(!typed.isEmpty() || hasProblem[fold] || hasAllowed[fold]);
    }
    m_nothingFound->setVisible(!isAnyShown);
    m_nothingFound->setText(isAnyWithoutEffect ? tr("“%1” has no effect on this scenario").arg(typed)
                                               : tr("No setting is called “%1”").arg(typed));
}

void ScenarioForm::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitHelp();
    m_helpPlace->setVisible(height() >= kLowestForm);
}

/// Whole lines, however large the text is and however far it is scrolled: none is cut in half.
void ScenarioForm::fitHelp()
{
    m_help->ensurePolished();
    const int line = std::max(1, QFontMetrics(m_help->font()).lineSpacing());
    const int lines = height() >= kLowForm ? std::clamp(kHelpHeight / line, 3, 5) : std::clamp(kLowHelpHeight / line, 1, 2);
    m_helpArea->setFixedHeight(lines * line);
    m_helpArea->setLine(line);
}

/// Behind another tab nothing was laid out.
void ScenarioForm::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (std::exchange(m_scrollsWhenShown, false))
        scrollToAllowed();
}

QString ScenarioForm::helpText() const
{
    return m_help->text();
}

void ScenarioForm::search(const QString& text)
{
    m_search->setText(text);
}

void ScenarioForm::focusSearch()
{
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

QStringList ScenarioForm::folds() const
{
    QStringList out;
    for (const auto& [part, fold] : m_folds) {
        if (fold->isOpen() != part->isOpen)
            out << QString::fromUtf8(part->fold);
    }
    return out;
}

void ScenarioForm::setFolds(const QStringList& changed)
{
    for (const auto& [part, fold] : m_folds)
        fold->setOpen(part->isOpen != changed.contains(QString::fromUtf8(part->fold)));
}

} // namespace app
