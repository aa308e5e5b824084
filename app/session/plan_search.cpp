#include "app/session/plan_search.h"
#include "app/session/plain_words.h"

#include "sim/analysis/likely_ratio.h"
#include "sim/answers/plan.h"
#include "sim/cancel.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace app {
namespace {

constexpr int kSearchJob = 0, kCellJob = 1, kGuideJob = 2, kFillJob = 3, kRobustJob = 4, kSizesJob = 5;
constexpr int kMostSimulatedOfCell = 40;

/// Reasons as people read them, without keys of the file.
sim::PlanAnswer inPlainWords(sim::PlanAnswer answer)
{
    for (sim::RejectedGrid& grid : answer.rejected)
        grid.text = plainWords(grid.text);
    answer.tooLargeText = plainWords(answer.tooLargeText);
    return answer;
}

sim::PlanGuide inPlainWords(sim::PlanGuide guide)
{
    for (sim::GuideGate& gate : guide.gates)
        for (std::string* text : {&gate.question, &gate.numbers, &gate.then})
            *text = plainWords(*text);
    guide.end = plainWords(guide.end);
    return guide;
}

PlanState stateOf(const sim::PlanRequest& request, sim::PlanAnswer answer, const sim::PlanProgress& progress, bool isRunning)
{
    PlanState state{.request = request, .answer = nullptr, .proof = {}, .progress = progress, .isRunning = isRunning};
    state.progress.soFar = {};
    if (isRunning)
        answer.stopped = false; // that it goes on is said elsewhere
    answer = inPlainWords(std::move(answer));
    state.proof = plainWords(sim::planProof(sim::planAnswer(answer, request)));
    state.answer = std::make_shared<const sim::PlanAnswer>(std::move(answer));
    return state;
}

/// That it was stopped is the last line; nobody did that, and the person may go on.
std::string saidToEndItself(std::string proof, double seconds)
{
    proof.erase(proof.rfind("stopped"));
    return proof + "stopped after " + sim::numberText(seconds, sim::Unit::count) + " s; press Plan again to go on";
}

std::function<bool()> endsAfter(double seconds, std::shared_ptr<std::atomic<bool>> isStopped)
{
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return [end, isStopped = std::move(isStopped)] { return isStopped->load() || Clock::now() >= end; };
}

/// The request with a cell's sizes held, whatever it held of them.
PlanCellState cellOf(const sim::PlanRequest& of, int tp, int pp, int mostSimulated)
{
    PlanCellState cell{.tp = tp, .pp = pp, .request = of, .answer = nullptr};
    std::erase_if(cell.request.fixed, [](const sim::PlanSetting& fixed) {
        return fixed.first == "layout.tp" || fixed.first == "layout.pp" || fixed.first == "/layout/tp" ||
               fixed.first == "/layout/pp";
    });
    cell.request.fixed.emplace_back("layout.tp", std::to_string(tp));
    cell.request.fixed.emplace_back("layout.pp", std::to_string(pp));
    cell.request.top = 1;
    cell.request.mostSimulated = mostSimulated;
    return cell;
}

/// Without a shard group that is what it would be unsaid, all of dp × cp: it goes on following them. Held, it stays.
std::string openedText(const sim::PlanRequest& request, const sim::PlannedLayout& layout, sim::ScenarioDocument document)
{
    constexpr const char* kShard = "layout.dp_shard";
    const bool isHeld = std::any_of(request.fixed.begin(), request.fixed.end(), [](const sim::PlanSetting& fixed) {
        return fixed.first == kShard || fixed.first == "/layout/dp_shard";
    });
    const auto written = document.get(kShard);
    if (!isHeld && written && *written == std::to_string(std::int64_t{layout.grid.dp} * layout.grid.cp))
        document.erase(kShard);
    return document.text();
}

} // namespace

PlanState brokenOff(const PlanState& state)
{
    sim::PlanAnswer answer = *state.answer;
    answer.stopped = true;
    return stateOf(state.request, std::move(answer), state.progress, false);
}

PlanSearch::PlanSearch(const sim::Catalogue& catalogue, QObject* parent) : QObject(parent), m_catalogue(catalogue) {}

PlanSearch::~PlanSearch()
{
    m_worker.stop();
}

void PlanSearch::start(sim::PlanRequest request, double mostSeconds)
{
    drop();
    m_isRunning = true;
    m_isStopped = std::make_shared<std::atomic<bool>>(false);
    m_worker.submit({.kind = kSearchJob,
                     .work = [this, request = std::move(request), mostSeconds,
                              isStopped = m_isStopped](const Task& task) { work(task, request, mostSeconds, isStopped); },
                     .failed =
                         [this](const QString& why) {
                             m_isRunning = false;
                             Q_EMIT failed(plainWords(why));
                         }});
}

void PlanSearch::stop()
{
    if (m_isStopped)
        *m_isStopped = true;
    if (m_areSizesStopped)
        *m_areSizesStopped = true;
}

void PlanSearch::drop()
{
    m_worker.dropAll();
    m_isRunning = m_asksCell = m_asksGuide = m_asksRobust = false;
    m_cellsToFill = m_sizesToFill = 0;
}

PlanCellState PlanSearch::searchedCell(const PlanFound& of, const PlanCellState& cell, double mostSeconds,
                                       const std::shared_ptr<std::atomic<bool>>& isStopped,
                                       const std::function<void(const PlanCellState&)>& improved) const
{
    const sim::CancelScope bounded(endsAfter(mostSeconds, isStopped));
    PlanCellState found = cell;
    std::vector<sim::PlanSetting> told;
    const auto tellSoFar = [&](const sim::PlanProgress& now) {
        if (now.simulated == 0)
            return;
        sim::PlanAnswer soFar = now.soFar();
        if (soFar.best.empty() || soFar.best.front().settings == told)
            return;
        told = soFar.best.front().settings;
        PlanCellState state = cell;
        state.answer = std::make_shared<const sim::PlanAnswer>(inPlainWords(std::move(soFar)));
        improved(state);
    };
    sim::PlanAnswer answer = inPlainWords(
        sim::plan(found.request, m_catalogue, improved ? tellSoFar : std::function<void(const sim::PlanProgress&)>()));
    if (!answer.best.empty() && of.answer && !of.answer->best.empty()) {
        const sim::PlannedLayout& first = of.answer->best.front();
        sim::PlannedLayout& best = answer.best.front();
        const auto scenarioOf = [&](const sim::PlanRequest& request, const sim::PlannedLayout& layout) {
            return sim::resolvedScenario(sim::withSettings(request, layout.settings), m_catalogue);
        };
        best.tieWithFirst =
            answer.noTies.empty() && !sim::likelyRatio(scenarioOf(of.request, first), scenarioOf(found.request, best),
                                                       best.paceSeconds() / first.paceSeconds())
                                          .canTell();
    }
    found.answer = std::make_shared<const sim::PlanAnswer>(std::move(answer));
    return found;
}

void PlanSearch::askCell(const PlanFound& of, int tp, int pp)
{
    m_asksCell = true;
    m_worker.ask(
        kCellJob,
        [this, of, cell = cellOf(of.request, tp, pp, kMostSimulatedOfCell)] {
            return searchedCell(of, cell, kMostCellSeconds, std::make_shared<std::atomic<bool>>(false));
        },
        [this](const PlanCellState& found) {
            m_asksCell = false;
            Q_EMIT cellFound(found);
        },
        [this](const QString& why) {
            m_asksCell = false;
            Q_EMIT cellFailed(plainWords(why));
        });
}

void PlanSearch::fillCells(const PlanFound& of, const std::vector<std::pair<int, int>>& tpAndPp, double mostSeconds)
{
    m_worker.drop(kFillJob);
    m_isStopped = std::make_shared<std::atomic<bool>>(false);
    m_cellsToFill = static_cast<int>(tpAndPp.size());
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(mostSeconds);
    const auto isDone = [this] {
        if (--m_cellsToFill == 0)
            Q_EMIT cellsFilled();
    };
    for (const auto& [tp, pp] : tpAndPp)
        m_worker.submit(
            {.kind = kFillJob,
             .work =
                 [this, isDone, end, isStopped = m_isStopped, of,
                  cell = cellOf(of.request, tp, pp, kMostSimulatedOfCell)](const Task& task) {
                     const double left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
                     if (isStopped->load() || left <= 0) {
                         task.tell(isDone);
                         return;
                     }
                     const auto improved = [this, &task](const PlanCellState& now) {
                         task.tell([this, now] { Q_EMIT cellImproved(now); });
                     };
                     task.tell(
                         [this, isDone, found = searchedCell(of, cell, std::min(left, kMostCellSeconds), isStopped, improved)] {
                             Q_EMIT cellFound(found);
                             isDone();
                         });
                 },
             .failed = [isDone](const QString&) { isDone(); }}); // its reason stays the floor
    if (tpAndPp.empty())
        Q_EMIT cellsFilled();
}

void PlanSearch::fillSizes(std::vector<sim::PlanRequest> requests, double mostSeconds)
{
    m_worker.drop(kSizesJob);
    m_areSizesStopped = std::make_shared<std::atomic<bool>>(false);
    m_sizesToFill = static_cast<int>(requests.size());
    // From the first one's turn on: the map's cells come before. Only the worker's thread looks at it.
    const auto end = std::make_shared<std::optional<std::chrono::steady_clock::time_point>>();
    const auto isDone = [this] {
        if (--m_sizesToFill == 0)
            Q_EMIT sizesFilled();
    };
    for (sim::PlanRequest& request : requests)
        m_worker.submit(
            {.kind = kSizesJob,
             .work =
                 [this, isDone, end, mostSeconds, isStopped = m_areSizesStopped, of = std::move(request)](const Task& task) {
                     const auto now = std::chrono::steady_clock::now();
                     if (!*end)
                         *end = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                          std::chrono::duration<double>(mostSeconds));
                     const double left = std::chrono::duration<double>(**end - now).count();
                     if (isStopped->load() || left <= 0) {
                         task.tell(isDone);
                         return;
                     }
                     const sim::CancelScope bounded(endsAfter(std::min(left, kMostSizeSeconds), isStopped));
                     task.tell([this, isDone, state = stateOf(of, sim::plan(of, m_catalogue), {}, false)] {
                         if (!state.answer->stopped) // else it is as unknown as before
                             Q_EMIT sizeFound(state);
                         isDone();
                     });
                 },
             .failed = [isDone](const QString&) { isDone(); }}); // no job of so many GPUs
    if (requests.empty())
        Q_EMIT sizesFilled();
}

void PlanSearch::askGuide(const sim::PlanRequest& request)
{
    m_asksGuide = true;
    m_worker.ask(
        kGuideJob,
        [this, request] { return std::make_shared<const sim::PlanGuide>(inPlainWords(sim::planGuide(request, m_catalogue))); },
        [this](const std::shared_ptr<const sim::PlanGuide>& guide) {
            m_asksGuide = false;
            Q_EMIT guideFound(guide);
        },
        [this](const QString& why) {
            m_asksGuide = false;
            Q_EMIT guideFailed(plainWords(why));
        });
}

void PlanSearch::dropGuide()
{
    m_worker.drop(kGuideJob);
    m_asksGuide = false;
}

void PlanSearch::askRobust(const PlanFound& of)
{
    m_asksRobust = true;
    m_worker.ask(
        kRobustJob,
        [this, of] {
            return std::make_shared<const sim::RobustChoice>(
                sim::robustChoice(of.request, m_catalogue, sim::robustLayouts(of.request, m_catalogue, *of.answer)));
        },
        [this](const std::shared_ptr<const sim::RobustChoice>& choice) {
            m_asksRobust = false;
            Q_EMIT robustFound(choice);
        },
        [this](const QString& why) {
            m_asksRobust = false;
            Q_EMIT robustFailed(plainWords(why));
        });
}

void PlanSearch::dropRobust()
{
    m_worker.drop(kRobustJob);
    m_asksRobust = false;
}

void PlanSearch::work(const Task& task, const sim::PlanRequest& request, double mostSeconds,
                      const std::shared_ptr<std::atomic<bool>>& isStopped)
{
    sim::PlanProgress last;
    const auto tellSoFar = [&](const sim::PlanProgress& now) {
        last = now;
        if (task.isCancelled())
            return;
        task.tell([this, state = stateOf(request, now.soFar(), now, true)] { Q_EMIT progressed(state); });
    };
    const sim::CancelScope bounded(endsAfter(mostSeconds, isStopped));
    PlanState end = stateOf(request, sim::plan(request, m_catalogue, tellSoFar), last, false);
    if (end.answer->stopped && !*isStopped)
        end.proof = saidToEndItself(std::move(end.proof), mostSeconds);
    task.tell([this, state = std::move(end)] {
        m_isRunning = false;
        Q_EMIT finished(state);
    });
}

Edit makePlanEdit(const sim::PlanRequest& request, const sim::PlannedLayout& layout)
{
    Edit edit;
    edit.text = "plan: " + layout.grid.text();
    edit.document = openedText(request, layout, sim::withSettings(request, layout.settings));
    return edit;
}

Edit makeGuideEdit(const sim::PlanRequest& request, const sim::PlannedLayout& layout)
{
    Edit edit;
    edit.text = "guide: " + layout.grid.text();
    edit.document = openedText(request, layout, sim::guideDocument(request, layout.settings));
    return edit;
}

} // namespace app
