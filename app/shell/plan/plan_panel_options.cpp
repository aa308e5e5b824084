// The menu of what is held, what is searched besides, and limits; and its button's words.
#include "app/session/edit.h"
#include "app/session/scenario_changes.h"
#include "app/session/scenario_keys.h"
#include "app/session/scenario_state.h"
#include "app/shell/plan/plan_panel.h"
#include "app/shell/plan/searched_keys.h"
#include "sim/planner/planner.h"
#include "sim/scenario/pointer_text.h"

#include <QActionGroup>
#include <QJsonDocument>
#include <QJsonValue>
#include <QMenu>
#include <QScreen>
#include <QToolButton>

namespace app {
namespace {

QString keyName(const std::string& pointer)
{
    const ScenarioKey* key = findScenarioKey(sim::slashed(pointer));
    return QString::fromStdString(key ? sentenceName(*key) : pointer.substr(pointer.find('.') + 1));
}

/// As the form says it: "on", "1 · optimizer", "DualPipeV", "Whole layers, 4 a chunk".
QString keyValue(const std::string& pointer, const std::string& json, const sim::Catalogue& catalogue)
{
    const ScenarioKey* key = findScenarioKey(sim::slashed(pointer));
    const std::string text = valueText(json);
    const bool isObject = json.starts_with('{');
    if (key)
        for (const KeyOption& option : keyOptions(catalogue, *key))
            if (option.json == (isObject ? app::quoted(text) : json)) {
                const QString layers = isObject
                                           ? QJsonDocument::fromJson(QByteArray::fromStdString(json))[QStringLiteral("layers")]
                                                 .toVariant()
                                                 .toString()
                                           : QString();
                return QString::fromStdString(option.text) +
                       (layers.isEmpty() ? QString() : PlanPanel::tr(", %1 a chunk").arg(layers));
            }
    return QString::fromStdString(text);
}

/// One of several that exclude each other.
template <class Choose>
void addChoice(QMenu* menu, QActionGroup* group, const QString& text, bool isChosen, const Choose& choose)
{
    QAction* action = menu->addAction(text);
    action->setCheckable(true);
    action->setChecked(isChosen);
    group->addAction(action);
    QObject::connect(action, &QAction::triggered, group, choose);
}

/// Above what it is the title of. A section of Qt's is a bare line in this style.
void addTitle(QMenu* menu, const QString& text)
{
    if (!menu->isEmpty())
        menu->addSeparator();
    QAction* title = menu->addAction(text);
    title->setEnabled(false);
    QFont font = menu->font();
    font.setWeight(QFont::DemiBold);
    title->setFont(font);
}

/// "torchtitan: pytorch-eager, as torchtitan runs": whose layouts, and the software that they are timed with.
QString frameworkText(std::string_view name, const Session& session)
{
    std::string text(name);
    if (const sim::Scenario* const scenario = session.scenario())
        text += ": " + sim::softwareText(name, session.document(), scenario->training.stack.id);
    return QString::fromStdString(text);
}

} // namespace

/// What is held and which limits there are, as far as there is room.
QString PlanPanel::optionsText() const
{
    QStringList held;
    for (const char* key : kSearchedKeys)
        if (m_held.contains(key))
            held << keyName(key);
    QStringList parts;
    if (!held.isEmpty())
        parts << (held.size() <= 2 ? tr("Held: %1").arg(held.join(QStringLiteral(", "))) : tr("%1 held").arg(held.size()));
    if (!m_framework.empty())
        parts << QString::fromStdString(m_framework);
    if (m_marginGib > 0)
        parts << tr("%1 GiB free").arg(m_marginGib);
    if (const int step = rampStep(m_rampParts); step > 0)
        parts << tr("batch from %1").arg(step);
    for (const BesidesFree& key : kBesidesFree)
        if (m_freed.contains(key.pointer))
            parts << tr(key.brief);
    return parts.isEmpty() ? tr("All may change") : parts.join(QStringLiteral(" · "));
}

/// Filled first: a menu is placed by its size, and a tool button would place it before.
void PlanPanel::showOptions()
{
    fillOptions();
    if (m_optionsMenu->isEmpty())
        return;
    const QRect button(m_options->mapToGlobal(QPoint(0, 0)), m_options->size());
    m_optionsMenu->popup(menuPlace(button, m_optionsMenu->sizeHint(), m_options->screen()->availableGeometry()));
}

void PlanPanel::fillOptions()
{
    m_optionsMenu->clear();
    qDeleteAll(m_optionsMenu->findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly)); // which clear() leaves
    const Session& session = m_desk.session();
    if (!session.isOpen())
        return;
    const ScenarioState state(session.document(), session.scenario(), session.catalogue());
    addTitle(m_optionsMenu, tr("Held as it is"));
    for (const char* key : kSearchedKeys) {
        const std::string pointer = key;
        const auto value = state.at(sim::slashed(pointer));
        if (!value)
            continue;
        QAction* action =
            m_optionsMenu->addAction(tr("%1: %2").arg(keyName(pointer), keyValue(pointer, *value, session.catalogue())));
        action->setCheckable(true);
        action->setChecked(m_held.contains(pointer));
        connect(action, &QAction::toggled, this, [this, pointer](bool on) { setHeld(pointer, on); });
    }
    addTitle(m_optionsMenu, tr("Searched besides"));
    for (const BesidesFree& key : kBesidesFree) {
        QAction* action = m_optionsMenu->addAction(tr(key.text));
        action->setCheckable(true);
        action->setChecked(m_freed.contains(key.pointer));
        connect(action, &QAction::toggled, this, [this, pointer = std::string(key.pointer)](bool on) {
            if (on)
                m_freed.insert(pointer);
            else
                m_freed.erase(pointer);
            askedForOther();
        });
    }
    m_optionsMenu->addSeparator(); // limits
    QMenu* framework = m_optionsMenu->addMenu(tr("Only What a Framework Can Do"));
    auto* frameworks = new QActionGroup(framework);
    const auto addFramework = [&](const QString& text, const std::string& name) {
        addChoice(framework, frameworks, text, m_framework == name, [this, name] {
            m_framework = name;
            askedForOther();
        });
    };
    addFramework(tr("Any"), {});
    for (const std::string_view name : sim::plannedFrameworks())
        addFramework(frameworkText(name, session), std::string(name));
    QMenu* margin = m_optionsMenu->addMenu(tr("Memory Left Free"));
    auto* margins = new QActionGroup(margin);
    for (const int gib : {0, 1, 2, 4, 8, 16})
        addChoice(margin, margins, gib == 0 ? tr("None") : tr("%1 GiB of each GPU").arg(gib), m_marginGib == gib, [this, gib] {
            m_marginGib = gib;
            askedForOther();
        });
    QMenu* ramp = m_optionsMenu->addMenu(tr("Batch at the Start"));
    auto* ramps = new QActionGroup(ramp);
    for (const int parts : {1, 2, 4, 8, 16, 32})
        if (const int first = rampStep(parts); parts == 1 || first > 0)
            addChoice(ramp, ramps, parts == 1 ? tr("As Large as Later") : tr("%1, Growing by %1").arg(first),
                      m_rampParts == parts, [this, parts] {
                          m_rampParts = parts;
                          askedForOther();
                      });
}

/// Sequences of which a ramp of so many equal steps has one; 0: the batch cannot be cut so.
int PlanPanel::rampStep(int parts) const
{
    const sim::Scenario* scenario = m_desk.session().scenario();
    // Where the file has none a plan has its own.
    const bool isWritten = scenario && m_desk.session().document().get("training.global_batch_size");
    const int batch = isWritten ? scenario->training.globalBatchSize : 0;
    return parts > 1 && batch % parts == 0 ? batch / parts : 0;
}

} // namespace app
