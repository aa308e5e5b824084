#include "app/shell/form/scenario_form.h"

#include "app/session/desk.h"
#include "app/session/help.h"
#include "app/session/reset.h"
#include "app/shell/form/lines_area.h"
#include "app/shell/widgets/elided_button.h"
#include "app/shell/widgets/format.h"
#include "app/shell/widgets/held_layouts.h"
#include "app/shell/widgets/style.h"
#include "sim/planner/planner.h"
#include "sim/scenario/pointer_text.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace app {
namespace {

constexpr int kBetweenRows = 6, kLinkPadding = 10;

QString listOf(const FormPart& part)
{
    return part.section == KeySection::links ? QStringLiteral("/cluster/tiers") : QStringLiteral("/perturbations");
}

bool isList(const FormPart& part)
{
    return part.section == KeySection::links || part.section == KeySection::perturbations;
}

bool sameValue(const std::optional<std::string>& a, const std::optional<std::string>& b)
{
    return a == b || (a && b && numberOf(*a) && numberOf(*a) == numberOf(*b));
}

} // namespace

void ScenarioForm::addPart(const FormPart& part, QVBoxLayout* column)
{
    if (isList(part)) {
        m_lists.push_back({&part, new QVBoxLayout, {}});
        m_lists.back().column->setSpacing(kBetweenRows);
        column->addLayout(m_lists.back().column);
        m_lists.back().rest = new QLabel;
        setRole(m_lists.back().rest, "muted");
        m_lists.back().rest->setContentsMargins(kRowGutter, 0, 0, 0);
        m_lists.back().rest->setWordWrap(true);
        column->addWidget(m_lists.back().rest);
        if (part.section == KeySection::perturbations)
            addPerturbationMenu(column);
        return;
    }
    m_groups.push_back({part.heading ? addHeading(tr(part.heading), column) : nullptr, {}, {}});
    for (const ScenarioKey& key : scenarioKeys()) {
        if (key.section == part.section) {
            m_groups.back().rows.push_back(addRow(key, std::string(key.pointer), column));
            addExtras(key, column);
        }
    }
}

FormRow* ScenarioForm::addRow(const ScenarioKey& key, const std::string& pointer, QVBoxLayout* column)
{
    FormRow* row = makeFormRow(m_session.catalogue(), key, pointer);
    column->addWidget(row);
    m_rows.insert_or_assign(pointer, row);
    m_order.push_back(row);
    connect(row, &FormRow::chosen, this, [this, row](const QString& json, int gesture) { choose(row, json, gesture); });
    connect(row, &FormRow::explains, this, [this](const QString& why) {
        m_help->setText(
            why.isEmpty() ? tr("What a setting means, and which values it may have, stands here while it has the focus.") : why);
        fitHelp();
        m_helpArea->verticalScrollBar()->setValue(0);
    });
    connect(row, &FormRow::resetRequested, this, [this, row] { resetRow(row); });
    const std::string planned = sim::dotted(pointer);
    const auto keys = sim::plannedKeys();
    if (std::find(keys.begin(), keys.end(), planned) != keys.end()) {
        const QString name = QString::fromStdString(sentenceName(key));
        for (const bool frees : {false, true}) {
            auto* action = new QAction(
                frees ? tr("Free %1: Plan It Around the Rest").arg(name) : tr("Hold %1: Plan the Rest Around It").arg(name), row);
            connect(action, &QAction::triggered, this,
                    [this, planned, frees] { Q_EMIT planRequested(QString::fromStdString(planned), frees); });
            row->addAction(action);
        }
        row->setContextMenuPolicy(Qt::ActionsContextMenu);
    }
    connect(row, &FormRow::termRequested, this, [this, row] { Q_EMIT termRequested(row->term()); });
    tellTerm(row);
    return row;
}

void ScenarioForm::setTerms(std::function<const HelpEntry*(const FormRow&)> termOf)
{
    m_termOf = std::move(termOf);
    for (FormRow* row : m_order)
        tellTerm(row);
}

void ScenarioForm::setOtherNames(std::function<QStringList(std::string_view)> otherNamesOf)
{
    m_otherNamesOf = std::move(otherNamesOf);
    for (FormRow* row : m_order)
        row->setOtherNames(m_otherNamesOf(row->key().pointer));
}

void ScenarioForm::tellTerm(FormRow* row) const
{
    if (m_otherNamesOf)
        row->setOtherNames(m_otherNamesOf(row->key().pointer));
    if (const HelpEntry* entry = m_termOf ? m_termOf(*row) : nullptr)
        row->setTerm(entry->title, entry->text);
}

QString ScenarioForm::focusedTerm() const
{
    const FormRow* row = focusedRow();
    return row != nullptr ? row->term() : QString();
}

FormRow* ScenarioForm::focusedRow() const
{
    const QWidget* focused = QApplication::focusWidget();
    const auto row =
        std::ranges::find_if(m_order, [&](const FormRow* each) { return focused != nullptr && each->isAncestorOf(focused); });
    return row == m_order.end() ? nullptr : *row;
}

void ScenarioForm::takeTyped()
{
    if (FormRow* row = focusedRow())
        row->takeTyped();
}

/// What stands below a row and is no key of its own.
void ScenarioForm::addExtras(const ScenarioKey& key, QVBoxLayout* column)
{
    if (key.pointer == "/layout/etp") {
        m_keepGpus = new QCheckBox(tr("Keep the GPUs: Data gives way"));
        m_keepGpus->setToolTip(
            tr("Tensor, Context and Pipeline then take from Data. Data itself adds and removes GPUs, as all do without it"));
        m_keepGpus->setAccessibleDescription(m_keepGpus->toolTip());
        m_keepGpus->setChecked(true);
        auto* line = new QHBoxLayout;
        line->setContentsMargins(kRowGutter, 0, 0, 0);
        line->addWidget(m_keepGpus);
        column->addLayout(line);
        connect(m_keepGpus, &QCheckBox::toggled, this, [this] {
            Q_EMIT layoutRuleChanged();
            judgeRefused();
        });
    } else if (key.pointer == "/schedule/kind") {
        m_compareSchedules = new QPushButton(tr("Compare all schedules…"));
        m_compareSchedules->setToolTip(tr("Bubble and memory of every schedule, with the pass times of this step"));
        m_compareSchedules->setAccessibleDescription(m_compareSchedules->toolTip());
        connect(m_compareSchedules, &QPushButton::clicked, this, &ScenarioForm::chooseScheduleRequested);
        auto* line = new QHBoxLayout;
        line->setContentsMargins(kRowGutter, 0, 0, 0);
        line->addWidget(m_compareSchedules);
        column->addLayout(line);
    }
}

QToolButton* ScenarioForm::addBackToBase(const char* block, QVBoxLayout* column)
{
    auto* back = new ElidedButton; // names of clusters are longer than the form is wide
    setRole(back, "link");
    back->setFocusPolicy(Qt::StrongFocus);
    back->hide();
    auto* line = new QHBoxLayout;
    line->setContentsMargins(kRowGutter - kLinkPadding, 0, 0, 0);
    line->addWidget(back);
    line->addStretch();
    column->addLayout(line);
    connect(back, &QToolButton::clicked, this, [this, block] {
        if (const auto edit = m_session.isOpen() ? makeBackToBaseEdit(state(), block) : std::nullopt)
            m_session.edit(*edit);
    });
    m_backs.emplace_back(block, back);
    return back;
}

std::vector<KeyOption> ScenarioForm::perturbationKinds() const
{
    return keyOptions(m_session.catalogue(), *findScenarioKey("/perturbations/0/kind"));
}

void ScenarioForm::addPerturbationMenu(QVBoxLayout* column)
{
    m_addPerturbation = new QToolButton;
    m_addPerturbation->setObjectName(QStringLiteral("addPerturbation"));
    m_addPerturbation->setText(tr("Add…"));
    m_addPerturbation->setToolTip(tr("Something that is not ideal: a slow GPU, a slow link, kernels that vary, GPUs that fail"));
    m_addPerturbation->setAccessibleName(tr("Add a perturbation"));
    m_addPerturbation->setAccessibleDescription(m_addPerturbation->toolTip());
    m_addPerturbation->setFocusPolicy(Qt::StrongFocus);
    m_addPerturbation->setPopupMode(QToolButton::InstantPopup);
    setRole(m_addPerturbation, "button");
    auto* menu = new QMenu(m_addPerturbation);
    for (const KeyOption& kind : perturbationKinds()) {
        const QString name = tr(kind.text.c_str());
        m_addable << name;
        connect(menu->addAction(name), &QAction::triggered, this, [this, kind = unquoted(kind.json)] {
            if (m_session.isOpen())
                m_session.edit(makePerturbationEdit(state(), kind));
        });
    }
    m_addable << m_addPerturbation->toolTip() << tr("A straggler, a perturbation");
    m_addPerturbation->setMenu(menu);
    auto* line = new QHBoxLayout;
    line->setContentsMargins(kRowGutter, 0, 0, 0);
    line->addWidget(m_addPerturbation);
    line->addStretch();
    column->addLayout(line);
}

QWidget* ScenarioForm::addHeading(const QString& text, QVBoxLayout* column, int perturbation)
{
    auto* heading = new QWidget;
    auto* line = new QHBoxLayout(heading);
    line->setContentsMargins(kRowGutter, 0, 0, 0);
    auto* label = new QLabel(text);
    setRole(label, "group");
    label->setIndent(0);
    line->addWidget(label, 1);
    if (perturbation >= 0) {
        auto* remove = new QToolButton;
        remove->setText(tr("Remove"));
        remove->setAccessibleName(tr("Remove %1").arg(text));
        remove->setFocusPolicy(Qt::StrongFocus);
        setRole(remove, "link");
        line->addWidget(remove);
        connect(remove, &QToolButton::clicked, this,
                [this, perturbation] { m_session.edit(makeRemovalEdit(state(), static_cast<std::size_t>(perturbation))); });
    }
    column->addWidget(heading);
    return heading;
}

void ScenarioForm::refreshLists(const ScenarioState& now)
{
    bool isRebuilt = false;
    for (ListPart& list : m_lists) {
        const std::string pointer = listOf(*list.part).toStdString();
        QString shape;
        const std::size_t all = now.count(pointer), shown = std::min(all, kMostFormEntries);
        list.rest->setVisible(all > shown);
        list.rest->setText(tr("The file has %1 more.").arg(separated(static_cast<std::int64_t>(all - shown))));
        for (std::size_t i = 0; i < shown; ++i) {
            const std::string name = pointer + "/" + std::to_string(i) + (pointer == "/perturbations" ? "/kind" : "/name");
            shape += QString::fromStdString(unquoted(now.at(name).value_or("link"))) + QLatin1Char('\n');
        }
        if (shape == list.shape)
            continue;
        list.shape = shape;
        rebuild(list);
        isRebuilt = true;
    }
    if (!isRebuilt)
        return;
    for (const auto& [pointer, values] : m_legal) {
        if (FormRow* row = rowAt(pointer))
            row->setLegalValues(values);
    }
    placeRows();
}

void ScenarioForm::rebuild(ListPart& list)
{
    const std::string prefix = listOf(*list.part).toStdString() + "/";
    std::erase_if(m_rows, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    const auto isGone = [&](const FormRow* row) { return row->pointer().starts_with(prefix); };
    std::erase_if(m_order, isGone);
    std::erase_if(m_groups, [&](const Group& group) { return !group.rows.empty() && isGone(group.rows.front()); });
    if (list.content) { // its rows may be telling us so at this moment
        list.content->hide();
        list.content->deleteLater();
    }
    list.content = new QWidget;
    auto* column = new QVBoxLayout(list.content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(kBetweenRows);
    const QStringList names = list.shape.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    for (qsizetype i = 0; i < names.size(); ++i) {
        const auto index = static_cast<std::size_t>(i);
        const bool isPerturbation = list.part->section == KeySection::perturbations;
        const QString title = isPerturbation ? tr("%1 %2").arg(tr(list.part->heading)).arg(i + 1)
                                             : tr("%1 “%2”").arg(tr(list.part->heading), names[i]);
        m_groups.push_back({addHeading(title, column, isPerturbation ? static_cast<int>(i) : -1), {}, {}});
        if (isPerturbation)
            for (const KeyOption& kind : perturbationKinds())
                if (unquoted(kind.json) == names[i].toStdString())
                    m_groups.back().name = tr(kind.text.c_str());
        for (const ScenarioKey& key : scenarioKeys()) {
            const std::string pointer = pointerAt(key.pointer, index);
            if (key.section == list.part->section && (!isPerturbation || perturbationTakes(names[i].toStdString(), pointer)))
                m_groups.back().rows.push_back(addRow(key, pointer, column));
        }
    }
    list.column->addWidget(list.content);
    std::stable_sort(m_order.begin(), m_order.end(),
                     [](const FormRow* a, const FormRow* b) { return a->key().section < b->key().section; });
}

namespace {

/// All that takes the keyboard inside a widget, as its layouts have it: rows, headings and what stands between them.
void addInOrder(QLayout& layout, std::vector<QWidget*>& out);

void addInOrder(QWidget& widget, std::vector<QWidget*>& out)
{
    if (auto* row = qobject_cast<FormRow*>(&widget)) {
        for (QWidget* control : row->focusOrder())
            out.push_back(control);
        return;
    }
    if ((widget.focusPolicy() & Qt::TabFocus) != 0)
        out.push_back(&widget);
    if (widget.layout() != nullptr)
        addInOrder(*widget.layout(), out);
}

void addInOrder(QLayout& layout, std::vector<QWidget*>& out)
{
    for (int i = 0; i < layout.count(); ++i) {
        QLayoutItem& item = *layout.itemAt(i);
        if (item.widget() != nullptr)
            addInOrder(*item.widget(), out);
        else if (item.layout() != nullptr)
            addInOrder(*item.layout(), out);
    }
}

std::vector<QWidget*> inOrder(QWidget& of)
{
    std::vector<QWidget*> out;
    addInOrder(of, out);
    return out;
}

} // namespace

/// Rows that are in the window get their controls, and Tab goes through them from top to bottom, whenever they were made; what
/// was never unfolded is not in the window yet.
void ScenarioForm::placeRows()
{
    for (FormRow* row : m_order)
        if (row->window() == window())
            row->build();
    QWidget* before = nullptr;
    for (QWidget* control : inOrder(*m_area->widget())) {
        if (before)
            setTabOrder(before, control);
        before = control;
    }
}

std::vector<Preset> ScenarioForm::whatIfs() const
{
    std::vector<Preset> out = m_session.isOpen() ? presets(state()) : std::vector<Preset>();
    std::erase_if(out, [this](const Preset& preset) { return !preset.whyNot.empty() || !isAllowed(preset.edit); });
    return out;
}

void ScenarioForm::perform(const Preset& preset)
{
    if (m_session.isOpen())
        m_session.edit(preset.edit);
}

bool ScenarioForm::isAllowed(const Edit& edit) const
{
    return std::ranges::all_of(edit.assignments, [this](const Assignment& each) { return m_limit.may(each.pointer); });
}

void ScenarioForm::fillWhatIf()
{
    m_whatIfMenu->clear();
    if (!m_session.isOpen())
        return;
    for (const Preset& preset : presets(state())) {
        QAction* action = m_whatIfMenu->addAction(QString::fromStdString(preset.name));
        const bool isOpen = isAllowed(preset.edit);
        action->setToolTip(!isOpen ? m_limit.why : QString::fromStdString(preset.whyNot.empty() ? preset.what : preset.whyNot));
        action->setEnabled(isOpen && preset.whyNot.empty());
        connect(action, &QAction::triggered, this, [this, preset] { perform(preset); });
    }
    m_whatIfMenu->addSeparator();
    QAction* back = m_whatIfMenu->addAction(tr("Everything back to the file"));
    back->setEnabled(m_file && m_file->document().text() != m_session.document().text());
    connect(back, &QAction::triggered, this, [this] {
        for (FormRow* row : m_order)
            row->leaveTyped();
        m_session.edit(makeResetEdit(state(), *m_file));
    });
}

void ScenarioForm::choose(FormRow* row, const QString& json, int gesture)
{
    if (!m_session.isOpen())
        return;
    const ScenarioState now = state();
    const std::string pointer = row->pointer();
    const auto value = json.isNull() ? std::nullopt : std::optional(json.toStdString());
    const bool isSame = value ? sameValue(value, now.at(pointer)) : !now.isWritten(pointer);
    if (isSame) { // what was typed before may have been no value at all
        row->setJson(now.at(pointer));
        row->setProblem(problemAt(pointer), !m_session.isLegal());
        return;
    }
    Edit edit = makeEdit(now, pointer, value, layoutRule());
    edit.gesture = gesture;
    // The file would take it, with GPUs that idle; they are to be kept.
    if (const auto why = value ? whyGpusAreNotKept(now, pointer, *value, layoutRule()) : std::nullopt) {
        sim::ScenarioDocument edited = m_session.document();
        apply(edited, edit);
        if (edited.resolve(m_session.catalogue()).scenario) {
            m_gpusOfRefused = now.lastLegal()->cluster.gpus();
            return row->refuse({.typed = numberOf(*value).value_or(0), .why = *why});
        }
    }
    m_session.edit(edit);
}

/// By the other rule: what only the one before stood in the way of is taken. Each of them, though the first that is taken has the
/// others given up.
void ScenarioForm::judgeRefused()
{
    std::vector<std::pair<FormRow*, QString>> typed;
    for (FormRow* row : m_order)
        if (const auto refused = row->refused())
            typed.emplace_back(row, QString::fromStdString(jsonNumber(refused->typed)));
    for (const auto& [row, json] : typed) {
        row->leaveTyped();
        choose(row, json, 0);
    }
}

/// Whether what is refused would be so now for the same reason, on the same GPUs.
bool ScenarioForm::isStillRefused(const ScenarioState& now, const FormRow& row) const
{
    const auto refused = row.refused();
    return refused && now.lastLegal() && now.lastLegal()->cluster.gpus() == m_gpusOfRefused &&
           whyGpusAreNotKept(now, row.pointer(), jsonNumber(refused->typed), layoutRule()) == refused->why;
}

void ScenarioForm::resetRow(const FormRow* row)
{
    if (m_session.isOpen() && m_file)
        m_session.edit(makeResetEdit(state(), *m_file, row->pointer(), layoutRule()));
}

void ScenarioForm::follow(Desk& desk)
{
    connect(&desk, &Desk::legalValuesReady, this, &ScenarioForm::setLegalValues);
    connect(this, &ScenarioForm::layoutRuleChanged, &desk, [this, &desk] { desk.setLayoutRule(layoutRule()); });
}

void ScenarioForm::setLegalValues(const LegalValueTable& table)
{
    m_legal = table;
    for (const auto& [pointer, values] : table) {
        if (FormRow* row = rowAt(pointer))
            row->setLegalValues(values);
    }
}

void ScenarioForm::forgetLegalValues()
{
    m_legal.clear();
    const HeldLayouts held(*this);
    for (FormRow* row : m_order) {
        row->setLegalValues({});
        row->leaveTyped();
    }
}

LayoutRule ScenarioForm::layoutRule() const
{
    return m_keepGpus->isChecked() ? LayoutRule::keepGpus : LayoutRule::resize;
}

FormRow* ScenarioForm::rowAt(std::string_view pointer) const
{
    const auto found = m_rows.find(pointer);
    return found == m_rows.end() ? nullptr : found->second;
}

QString ScenarioForm::problemAt(const std::string& pointer) const
{
    const auto found = m_shownProblems.find(pointer);
    return found == m_shownProblems.end() ? QString() : found->second;
}

} // namespace app
