// What the panel asks for, what comes of it, and what becomes of a layout that was chosen.
#include "app/shell/plan/plan_panel.h"

#include "app/session/edit.h"
#include "app/session/scenario_state.h"
#include "app/shell/form/number_row.h"
#include "app/shell/form/token_count.h"
#include "app/shell/plan/run_length_ask.h"
#include "app/shell/plan/searched_keys.h"
#include "sim/frameworks/limits.h"
#include "sim/scenario/pointer_text.h"

#include <QComboBox>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStackedWidget>

#include <algorithm>

namespace app {

int PlanPanel::presentGpus() const
{
    const sim::Scenario* scenario = m_desk.session().scenario();
    return scenario ? static_cast<int>(std::min<std::int64_t>(scenario->layout.worldSize(), kMostPlannedByHand)) : 1;
}

/// The document but for what is searched: the same before and after one of its layouts was opened.
std::string PlanPanel::searchedText() const
{
    const Session& session = m_desk.session();
    if (!session.isOpen() || !session.isLegal())
        return {};
    std::string text = textOf(session.document());
    if (!session.document().get("training.global_batch_size")) // it follows the layout that is there
        text += "\nglobal batch " + std::to_string(session.scenario()->training.globalBatchSize);
    const auto opened = m_openedOf.find(text);
    return opened == m_openedOf.end() ? text : opened->second;
}

std::string PlanPanel::textOf(sim::ScenarioDocument document) const
{
    for (const char* key : kSearchedKeys)
        if (!m_held.contains(key) && document.get(key))
            document.erase(key);
    for (const char* key : {"name", "description", "cluster.nodes", "view"})
        if (document.get(key))
            document.erase(key);
    // Of a layout's own where it is searched, or the framework's: else the plan is of the document's.
    const bool isOrderOfLayouts = m_freed.contains("layout.order") || !sim::onlyOrderOf(m_framework).empty();
    if (isOrderOfLayouts && !m_held.contains("layout.order") && document.get("layout.order"))
        document.erase("layout.order");
    return document.text();
}

sim::PlanRequest PlanPanel::requestNow() const
{
    return requestFor(m_gpus->value());
}

sim::PlanRequest PlanPanel::requestFor(int gpus) const
{
    const Session& session = m_desk.session();
    sim::PlanRequest request{.document = session.document()};
    request.gpus = gpus == presentGpus() ? 0 : gpus;
    request.objective = static_cast<sim::PlanObjective>(m_objective->currentData().toInt());
    request.price = m_price;
    request.framework = m_framework;
    request.marginGib = m_marginGib;
    if (const int step = rampStep(m_rampParts); step > 0)
        request.rampBatches = sim::rampedBatches(step * m_rampParts, step, step);
    const ScenarioState state(session.document(), session.scenario(), session.catalogue());
    for (const std::string& pointer : m_held) {
        std::optional<std::string> value = session.document().get(pointer);
        if (!value)
            value = state.at(sim::slashed(pointer));
        if (value)
            sim::hold(request, {pointer, *value}, session.catalogue());
    }
    request.freed.assign(m_freed.begin(), m_freed.end());
    return request;
}

/// Another scenario: nothing of the one before is held or shown.
void PlanPanel::forget()
{
    m_search.drop();
    m_soon.stop();
    m_byGpus.clear();
    m_held.clear();
    m_freed.clear();
    m_framework.clear();
    m_marginGib = 0;
    m_rampParts = 1;
    m_area->verticalScrollBar()->setValue(0); // to where it is begun
    m_plannedOf.clear();
    m_openedOf.clear();
    m_hasPlanned = false;
    m_choice->reset();
    forgetPlan();
    forgetGuide();
    const QSignalBlocker quiet(m_gpus);
    m_gpus->setValue(presentGpus());
    sayWhyEmpty(tr("No plan yet"), tr("Press Plan: every layout of these GPUs is judged, and the best is proved."));
    refreshControls();
    refreshDetail();
    refreshFrames();
}

/// The map says it; beside it stands what there will be, not the same again.
void PlanPanel::sayWhyEmpty(const QString& title, const QString& hint)
{
    m_map.setHint(title.toStdString(), hint.toStdString());
    m_best.setHint(tr("The best layouts").toStdString(),
                   tr("Once a plan is there: the first five, and what their steps go to.").toStdString());
    m_scatter.setHint(
        tr("Step time against memory").toStdString(),
        tr("Once a plan is there: all layouts that were simulated, and which of them none betters in both.").toStdString());
}

/// What was found: its map would be clicked as if it were of what is asked for now.
void PlanPanel::forgetPlan()
{
    m_state.reset();
    m_cells.clear();
    m_hasFilledMap = false;
    m_failure.clear();
    m_cellFailure.clear();
    m_picture = std::make_shared<const PlanPicture>();
    for (PlanView* view : std::initializer_list<PlanView*>{&m_map, &m_best, &m_scatter})
        view->setPicture(nullptr);
    forgetRobust();
}

/// It was of another search.
void PlanPanel::forgetRobust()
{
    m_search.dropRobust();
    m_robust.reset();
    m_robustView.set(nullptr);
    m_robustView.setHint(tr("Where not all goes as planned").toStdString(),
                         tr("Once a plan is there, the layouts near the first are compared: slower products, links and GPUs, "
                            "busier experts.")
                             .toStdString());
}

/// Of a search that is over, while it is looked at.
void PlanPanel::askRobust()
{
    if (m_side->currentWidget() != m_robustCanvas || m_robust || m_search.isAskingRobust() || m_search.isRunning() || !m_state ||
        m_state->answer->best.empty() || searchedText() != m_plannedOf)
        return;
    if (m_state->request.objective == sim::PlanObjective::headroom) {
        m_robustView.setHint(tr("Where not all goes as planned").toStdString(),
                             tr("It asks how long a step takes: plan for something else than least memory.").toStdString());
        refreshFrames();
        return;
    }
    m_robustView.setHint(tr("Simulating the layouts near the first…").toStdString(),
                         tr("Each in every case that does not go as planned.").toStdString());
    m_search.askRobust({m_state->request, m_state->answer});
    refreshFrames();
}

/// The path was of another question: nothing of it is shown or on its way. It is walked anew while it is looked at.
void PlanPanel::forgetGuide()
{
    m_search.dropGuide();
    m_guide.reset();
    m_guideRequest.reset();
    m_guideOf.clear();
    if (m_choosesPath)
        m_choice->reset();
    m_choosesPath = false;
    m_guideView.setHint(tr("The path to a layout").toStdString(),
                        tr("Does a layer fit a GPU, the model a node? It is walked with your numbers.").toStdString());
    showGuide();
    wantGuideSoon();
}

bool PlanPanel::isGuideInFront() const
{
    return m_side->currentWidget() == m_guideCanvas;
}

void PlanPanel::wantGuideSoon()
{
    if (isGuideInFront() && isVisible() && !m_guide && !m_search.isAskingGuide())
        m_guideSoon.start();
    else
        m_guideSoon.stop();
}

void PlanPanel::scenarioChanged()
{
    // While somebody types there may be no job at all for a moment: what is searched goes on until there is another.
    const bool isLegal = !m_desk.session().isOpen() || m_desk.session().isLegal();
    const bool isOther = m_hasPlanned && isLegal && searchedText() != m_plannedOf;
    if (isOther) {
        m_search.drop(); // at once: what it searches is not the scenario any more
        if (m_state && m_state->isRunning)
            m_state = brokenOff(*m_state); // undone, it is the scenario again
        m_soon.stop();
        m_byGpus.clear();
        forgetRobust();
    }
    if (isLegal && (searchedText() != m_guideOf || (isOther && !m_guide)))
        forgetGuide();
    if (!m_hasPlanned) {
        const QSignalBlocker quiet(m_gpus);
        m_gpus->setValue(presentGpus());
    }
    refreshControls();
    refreshDetail();
    refreshFrames();
}

/// Objective, what is held, limits: what was found was of another question.
void PlanPanel::askedForOther()
{
    m_byGpus.clear();
    if (m_hasPlanned && m_desk.session().isLegal()) {
        m_search.drop();
        m_soon.start();
    }
    forgetGuide();
    refreshControls();
    refreshDetail();
    refreshFrames();
}

/// For another number of GPUs: from before, or soon.
void PlanPanel::refill()
{
    m_search.drop();
    forgetGuide();
    forgetRobust();
    const auto known = m_byGpus.find(m_gpus->value());
    if (known != m_byGpus.end() && searchedText() == m_plannedOf) {
        m_soon.stop();
        m_cells.clear();
        m_hasFilledMap = false;
        m_choice->reset();
        show(PlanState(known->second));
        return;
    }
    m_soon.start();
    refreshControls();
    refreshDetail();
    refreshFrames();
}

void PlanPanel::start()
{
    m_soon.stop();
    m_failure.clear();
    m_cellFailure.clear();
    const auto refuse = [this](const QString& why) {
        forgetPlan();
        m_hasPlanned = false;
        showFailure(why);
    };
    if (!m_desk.session().isOpen() || !m_desk.session().isLegal()) {
        refuse(tr("Only a scenario that works can be planned: mend its problems first"));
        return;
    }
    if (static_cast<sim::PlanObjective>(m_objective->currentData().toInt()) == sim::PlanObjective::cost && m_price <= 0) {
        refuse(tr("Planning by cost wants the price of a GPU hour: File > Settings"));
        return;
    }
    const std::string of = searchedText();
    if (of != m_plannedOf)
        m_byGpus.clear();
    m_plannedOf = of;
    m_hasPlanned = true;
    m_choice->reset();
    m_choosesPath = false;
    forgetPlan();
    sayWhyEmpty(tr("Searching…"), {});
    m_search.start(requestNow());
    if (!m_guide)
        forgetGuide(); // one on its way is dropped with the search before
    refreshControls();
    refreshDetail();
    refreshFrames();
}

void PlanPanel::stop()
{
    m_search.stop();
}

void PlanPanel::show(const PlanState& state)
{
    m_state = state;
    m_failure.clear();
    m_cellFailure.clear();
    const sim::Scenario* scenario = m_desk.session().scenario();
    m_picture = std::make_shared<const PlanPicture>(state.answer, state.request.objective,
                                                    scenario ? scenario->cluster.gpu.memoryGib : 0);
    showMine();
    if (!state.isRunning) {
        m_byGpus.insert_or_assign(state.answer->gpus, state);
        if (!m_choice->has_value() && !state.answer->best.empty())
            *m_choice = choiceOf(state.answer->best.front());
        if (isGuideInFront() && !m_guide && !m_search.isAskingGuide())
            askGuide();
        askRobust();
        fillMap();
        fillSizes();
    }
    showGuide();
    if (const PlanCell* cell = *m_choice ? m_picture->cell((*m_choice)->tp, (*m_choice)->pp) : nullptr;
        cell && !(*m_choice)->layout)
        *m_choice = choiceOf(*cell);
    refreshControls();
    refreshDetail();
    refreshFrames();
}

/// The scenario as it is and the price as it is, in what was found.
void PlanPanel::showMine()
{
    if (m_picture->isEmpty() || !m_state)
        return;
    auto picture = std::make_shared<PlanPicture>(*m_picture);
    const SimulationPtr& now = m_desk.simulation();
    const sim::PlanAnswer& answer = *m_state->answer;
    std::optional<PlanMine> mine;
    if (now && now->scenario().layout.worldSize() == answer.gpus)
        mine = PlanMine{.tp = now->scenario().layout.tp,
                        .pp = now->scenario().layout.pp,
                        .paceSeconds =
                            now->metrics().stepTimeSeconds *
                            (answer.paceBatch > 0 ? 1.0 * answer.paceBatch / now->scenario().training.globalBatchSize : 1.0),
                        .peakGib = now->metrics().peakMemoryGib};
    picture->setMine(mine);
    picture->setPrice(m_price, m_state->request.document.get("training.tokens").has_value());
    m_picture = picture;
    for (PlanView* view : std::initializer_list<PlanView*>{&m_map, &m_best, &m_scatter})
        view->setPicture(m_picture);
}

void PlanPanel::showFailure(const QString& message)
{
    m_failure = message;
    sayWhyEmpty(tr("There is no plan"), {});
    wantGuideSoon();
    refreshControls();
    refreshDetail();
    refreshFrames();
}

void PlanPanel::cellFound(const PlanCellState& found)
{
    if (!m_state)
        return;
    if (!found.answer->best.empty() || !found.answer->stopped) // else it is as unknown as before, and may be asked for again
        m_cells.insert_or_assign({found.tp, found.pp}, found);
    auto picture = std::make_shared<PlanPicture>(*m_picture);
    picture->setCell(found.tp, found.pp, *found.answer);
    m_picture = picture;
    for (PlanView* view : std::initializer_list<PlanView*>{&m_map, &m_best, &m_scatter})
        view->setPicture(m_picture);
    if (*m_choice && (*m_choice)->tp == found.tp && (*m_choice)->pp == found.pp && !found.answer->best.empty())
        (*m_choice)->layout = found.answer->best.front();
    refreshControls();
    refreshDetail();
    refreshFrames();
}

void PlanPanel::showPartAt(int place)
{
    m_side->setCurrentIndex(place);
    if (isGuideInFront() && !m_guide && !m_search.isAskingGuide())
        askGuide();
    askRobust();
    fillSizes();
    refreshControls();
}

void PlanPanel::askGuide()
{
    m_guideSoon.stop();
    if (!m_desk.session().isOpen() || !m_desk.session().isLegal())
        return;
    m_guideRequest = requestNow();
    m_guideOf = searchedText();
    m_guideView.setHint(tr("Walking the path…").toStdString(), tr("Each gate is laid out and simulated.").toStdString());
    m_search.askGuide(*m_guideRequest);
    refreshFrames();
}

void PlanPanel::showGuide()
{
    const bool hasBest = m_state && !m_state->answer->best.empty() && m_guide && m_state->answer->gpus == m_guide->gpus &&
                         searchedText() == m_plannedOf;
    m_guideView.set(m_guide, hasBest ? std::optional(m_state->answer->best.front()) : std::nullopt);
    m_guideCanvas->requestFrame();
}

void PlanPanel::chooseOfRobust(const sim::PlannedLayout& layout)
{
    *m_choice = choiceOf(layout);
    const PlanCell* cell = m_picture->cell((*m_choice)->tp, (*m_choice)->pp);
    if (cell && cell->best && cell->best->settings == layout.settings)
        *m_choice = choiceOf(*cell); // the same, and whether it is a tie
    m_choosesPath = false;
    refreshDetail();
    refreshFrames();
}

void PlanPanel::chooseOfGuide(const sim::PlannedLayout& layout, bool isPath)
{
    *m_choice = choiceOf(layout);
    m_choosesPath = isPath;
    refreshDetail();
    refreshFrames();
}

/// Cells that were cut say what is least of them; what the best of them takes is searched once the first is proved.
void PlanPanel::fillMap()
{
    if (!m_fillsMap || !m_state || m_state->answer->stopped || m_state->answer->best.empty())
        return;
    std::vector<const PlanCell*> cut;
    for (const PlanCell& cell : m_picture->cells())
        if (cell.kind != PlanCellKind::winner && !cell.isProved &&
            (cell.best || cell.kind == PlanCellKind::floor || cell.kind == PlanCellKind::open))
            cut.push_back(&cell);
    std::stable_sort(cut.begin(), cut.end(), [](const PlanCell* a, const PlanCell* b) { return a->margin < b->margin; });
    std::vector<std::pair<int, int>> places;
    for (const PlanCell* cell : cut)
        places.emplace_back(cell->tp, cell->pp);
    m_hasFilledMap = !places.empty();
    if (!places.empty())
        m_search.fillCells({m_state->request, m_state->answer}, places, m_mostFillSeconds);
}

bool PlanPanel::saysTokens() const
{
    return m_desk.session().isOpen() && m_desk.session().document().get("training.tokens").has_value();
}

/// As one step; a plan that was made without them is made anew, for its days.
void PlanPanel::setTokens(double tokens)
{
    if (!m_desk.session().isOpen())
        return;
    const bool wasPlanned = m_state.has_value();
    m_desk.session().edit(makeKeyEdit("/training/tokens", plainNumber(tokens).remove(QLatin1Char(',')).toStdString(),
                                      tr("whole run").toStdString(), tr("not said").toStdString(),
                                      tr("%1 tokens").arg(tokenCountText(tokens)).toStdString()));
    if (wasPlanned && m_desk.session().isLegal())
        start();
    m_costCanvas->setFocus();
}

/// Asks for what days and costs follow from where it is not said; else says why there are none yet.
void PlanPanel::refreshCostPage()
{
    const bool asks = m_desk.session().isOpen() && !saysTokens();
    m_costPage->setCurrentWidget(asks ? static_cast<QWidget*>(m_runLength) : m_costCanvas);
    const bool isOfBefore = m_hasPlanned && searchedText() != m_plannedOf;
    m_costView.setHint((m_search.isRunning()     ? tr("Searching…")
                        : !m_state || isOfBefore ? tr("Once a plan is there: the days of the run against what they cost.")
                                                 : tr("Nothing that fits was found so far."))
                           .toStdString());
}

/// Of the numbers of GPUs that the slider has, while their days and costs are looked at.
void PlanPanel::fillSizes()
{
    if (m_side->currentWidget() != m_costPage || !saysTokens() || !m_state || m_search.isRunning() ||
        m_search.sizesToFill() > 0 || searchedText() != m_plannedOf)
        return;
    std::vector<sim::PlanRequest> requests;
    for (const int gpus : gpuStops())
        if (!m_byGpus.contains(gpus))
            requests.push_back(requestFor(gpus)); // whole: it is shown where the slider goes there
    if (!requests.empty())
        m_search.fillSizes(std::move(requests));
}

/// Cells of the map that its filling did not come to.
int PlanPanel::cellsLeft() const
{
    if (!m_hasFilledMap || m_search.cellsToFill() > 0)
        return 0;
    const std::vector<PlanCell>& cells = m_picture->cells();
    return static_cast<int>(std::count_if(cells.begin(), cells.end(), [&](const PlanCell& cell) {
        return !cell.best && (cell.kind == PlanCellKind::floor || cell.kind == PlanCellKind::open) &&
               !m_cells.contains({cell.tp, cell.pp});
    }));
}

void PlanPanel::choose(int tp, int pp)
{
    const PlanCell* cell = m_picture->cell(tp, pp);
    if (!cell || cell->kind == PlanCellKind::none)
        return;
    *m_choice = choiceOf(*cell);
    choiceChanged();
}

void PlanPanel::choiceChanged()
{
    m_choosesPath = false;
    m_cellFailure.clear();
    const PlanCell* cell = *m_choice ? m_picture->cell((*m_choice)->tp, (*m_choice)->pp) : nullptr;
    const bool isUnknown =
        cell && !(*m_choice)->layout && !cell->best && (cell->kind == PlanCellKind::floor || cell->kind == PlanCellKind::open);
    if (isUnknown && !m_search.isRunning() && m_state && searchedText() == m_plannedOf && !m_cells.contains({cell->tp, cell->pp}))
        m_search.askCell({m_state->request, m_state->answer}, cell->tp, cell->pp);
    refreshDetail();
    refreshFrames();
}

const sim::PlanRequest* PlanPanel::requestOfChosen() const
{
    if (!*m_choice || !(*m_choice)->layout)
        return nullptr;
    if (m_choosesPath)
        return m_guide && m_guideRequest ? &*m_guideRequest : nullptr;
    if (!m_state)
        return nullptr;
    const auto cell = m_cells.find({(*m_choice)->tp, (*m_choice)->pp});
    if (cell != m_cells.end() && !cell->second.answer->best.empty() && (*m_choice)->isLayout(cell->second.answer->best.front()))
        return &cell->second.request;
    return &m_state->request;
}

bool PlanPanel::canOpen() const
{
    return requestOfChosen() != nullptr && searchedText() == (m_choosesPath ? m_guideOf : m_plannedOf);
}

void PlanPanel::openChosen()
{
    if (!canOpen())
        return;
    sim::PlanRequest request = *requestOfChosen();
    const sim::PlannedLayout layout = *(*m_choice)->layout;
    request.document = m_desk.session().document(); // with the name that it has now
    const QString name = QString::fromStdString(layoutText(layout));
    const Edit edit = m_choosesPath ? makeGuideEdit(request, layout) : makePlanEdit(request, layout);
    // Layers of stages that were written out are written anew: it is the same question still.
    const std::string of = searchedText();
    const std::string after = textOf(sim::ScenarioDocument::parse(*edit.document, request.document.fileName()));
    if (after != of)
        m_openedOf.insert_or_assign(after, of);
    m_desk.session().edit(edit);
    Q_EMIT opened(name);
}

void PlanPanel::compareChosen()
{
    if (!canOpen())
        return;
    sim::PlanRequest request = *requestOfChosen();
    request.document = m_desk.session().document();
    const sim::PlannedLayout& layout = *(*m_choice)->layout;
    Q_EMIT compareRequested((m_choosesPath ? tr("guide: %1") : tr("plan: %1")).arg(QString::fromStdString(layout.grid.text())),
                            m_choosesPath ? sim::guideDocument(request, layout.settings)
                                          : sim::withSettings(request, layout.settings));
}

void PlanPanel::planAround(const std::string& pointer)
{
    m_held = {pointer};
    m_freed.erase(pointer);
    m_byGpus.clear();
    forgetGuide();
    start();
}

void PlanPanel::planAlone(const std::string& pointer)
{
    m_held.clear();
    if (std::find(std::begin(kSearchedKeys), std::end(kSearchedKeys), pointer) == std::end(kSearchedKeys))
        m_freed.insert(pointer);
    m_byGpus.clear();
    forgetGuide();
    const Session& session = m_desk.session();
    if (session.isOpen()) {
        const ScenarioState state(session.document(), session.scenario(), session.catalogue());
        const bool sharesGpus = pointer == "layout.tp" || pointer == "layout.cp" || pointer == "layout.pp" ||
                                pointer == "layout.dp"; // dp gives way, and what is sharded over it; experts' tp follows tp
        for (const std::string key : kSearchedKeys) {
            const bool follows = sharesGpus && (key == "layout.dp" || key == "layout.dp_shard" || key == "layout.etp" ||
                                                (pointer == "layout.dp" && key == "layout.pp"));
            if (key != pointer && !follows && (session.document().get(key) || state.at(sim::slashed(key))))
                m_held.insert(key);
        }
    }
    start();
}

} // namespace app
