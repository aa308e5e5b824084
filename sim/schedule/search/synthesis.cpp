#include "sim/schedule/search/synthesis.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/parallel.h"
#include "sim/schedule/families/family_parts.h"
#include "sim/schedule/search/bounds.h"
#include "sim/schedule/search/constructions.h"
#include "sim/schedule/search/word_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <limits>
#include <numeric>
#include <sstream>

namespace sim {

namespace {

/// Chains are independent but for exchanges at fixed numbers of moves, so that threads only share them out.
constexpr std::size_t kChains = 8;
/// A cycle is one annealing from hot to cold; each epoch of it has one temperature.
constexpr std::int64_t kCycles = 2;
constexpr std::int64_t kEpochs = 64;
/// Temperatures in mean durations of a pass: every other chain starts warm, the others nearly cold.
constexpr std::array kHottest{0.12, 0.03};
constexpr double kColdest = 0.002;

std::string tenDigits(double value)
{
    std::ostringstream text;
    text << std::setprecision(10) << value;
    return text.str();
}

ScheduleRequest frameRequest(const SynthesisRequest& request)
{
    return {.kind = "auto", .ranks = request.ranks, .virtualStages = request.virtualStages, .microbatches = request.microbatches};
}

void checkNumbers(const SynthesisRequest& request)
{
    if (const auto unmet = scheduleFamily("auto").unmet(frameRequest(request)))
        throw Error(*unmet);
    const auto stages = static_cast<std::size_t>(request.ranks) * static_cast<std::size_t>(request.virtualStages);
    for (const auto& [what, given] : {std::pair{"times", request.times.size()}, {"memory", request.memory.size()}})
        if (given != 1 && given != stages)
            throw Error("auto on " + std::to_string(stages) + " stages is given the " + what + " of " + std::to_string(given) +
                        "; give one for all, or one a stage");
    for (const PassTimes& times : request.times)
        for (const double time : {times.forward, times.backwardInput, times.backwardWeight, times.comm})
            if (!(time >= 0) || !std::isfinite(time))
                throw Error("auto is given a pass or latency of " + tenDigits(time) + "; times must be 0 or more");
    for (const PassMemory& memory : request.memory)
        if (!(memory.weight >= 0) || !(memory.weight <= memory.full) || !std::isfinite(memory.full))
            throw Error("auto is given activations of " + tenDigits(memory.full) + ", of which " + tenDigits(memory.weight) +
                        " stay until the weight gradient; that must be 0 or more, and no more than all");
    for (const PassTimes& times : request.times)
        if (!std::isfinite(times.fused) || !std::isfinite(times.overlapped))
            throw Error("auto is given a backward or block of " + tenDigits(times.fused < 0 ? times.overlapped : times.fused) +
                        "; give a time, or less than 0 for the sum of its passes");
    if (!(request.memoryCap >= 0))
        throw Error("auto is given a memory cap of " + tenDigits(request.memoryCap) + "; it must be more than 0");
}

double capOf(const SynthesisRequest& request)
{
    if (request.memoryCap > 0)
        return request.memoryCap;
    double full = 0;
    for (const PassMemory& memory : request.memory)
        full = std::max(full, memory.full);
    return full * request.ranks * request.virtualStages;
}

/// What the rank with the most needs for a single micro-batch on all its chunks: less can never do, and it is enough.
double leastCap(const PipelineProblem& problem)
{
    std::vector<double> held(problem.ranks(), 0);
    for (std::size_t stage = 0; stage < problem.stages(); ++stage)
        held[problem.rankOf(stage)] += problem.memory[stage].full;
    return *std::max_element(held.begin(), held.end());
}

/// Is it one of the same stages and micro-batches, and, unless on `anyPlacement`, on the same ranks?
bool isOrderOf(const PipelineProblem& problem, const Schedule& order, bool anyPlacement = false)
{
    const Schedule& frame = problem.frame;
    return order.chains == 1 && order.slices == 1 && order.ranks == frame.ranks && order.virtualStages == frame.virtualStages &&
           order.microbatches == frame.microbatches && order.stages() == frame.stages() &&
           (anyPlacement || order.stageToRank == frame.stageToRank);
}

/// A second or two on two cores up to some thousand passes, a few seconds beyond.
std::int64_t movesFor(const PipelineProblem& problem)
{
    const auto passes = static_cast<std::int64_t>(problem.stages()) * 3 * problem.frame.microbatches;
    return passes < 1000 ? std::min<std::int64_t>(8000 * passes, 4'000'000)
                         : std::max<std::int64_t>(4'000'000'000 / passes, 1'000'000);
}

/// Every placement that is tried.
std::vector<PipelineProblem> placementsOf(const SynthesisRequest& request)
{
    const ScheduleRequest frame = frameRequest(request);
    std::vector<PipelineProblem> placements;
    const auto place = [&](const char* topology, const Schedule& schedule) {
        placements.push_back(pipelineProblem(topology, schedule, request.times, request.memory, capOf(request)));
    };
    if (request.virtualStages == 2)
        place("V", vSchedule(frame));
    place(request.virtualStages == 1 ? "line" : "loop", loopSchedule(frame));
    const auto& present = request.present;
    const auto isPlacedAlike = [&](const PipelineProblem& problem) { return problem.frame.stageToRank == present->stageToRank; };
    if (present && isOrderOf(placements.front(), *present, true) &&
        std::none_of(placements.begin(), placements.end(), isPlacedAlike)) {
        Schedule own = placements.front().frame;
        own.stageToRank = present->stageToRank;
        place("placement like the present one's", own);
    }
    return placements;
}

struct Start {
    const PipelineProblem* problem = nullptr;
    Schedule schedule;
    double span = 0;
    std::string name;
};

struct Chain {
    WordSearch search;
    std::int64_t left = 0; ///< moves of this epoch
    std::size_t start = 0; ///< where its best comes from
};

} // namespace

struct Synthesiser::State {
    SynthesisRequest request;
    std::vector<std::unique_ptr<PipelineProblem>> problems; ///< one or two a placement; their addresses stay
    SpanBound bound;
    std::string scope;

    std::vector<std::pair<const PipelineProblem*, Construction>> portfolio;
    std::size_t constructed = 0;
    std::vector<ConstructionOutcome> outcomes;
    std::vector<Start> starts; ///< shortest first, different spans only

    std::vector<Chain> chains;
    std::vector<std::size_t> ranking; ///< of the last exchange, shortest first
    std::size_t exchanged = 0;
    std::int64_t epoch = 0, planned = 0, epochMoves = 0, moves = 0;
    double meanPass = 0;
    Start best;
    std::optional<Start> present; ///< exactly as it is, if it keeps the cap

    explicit State(SynthesisRequest asked);
    const Start& shortest() const { return present && present->span <= best.span ? *present : best; }
    bool optimal() const { return shortest().span <= bound.span * (1 + 1e-9); }
    void takePresent();
    /// As it is to be executed. The present order is that already.
    Schedule orderOf(const Start& start) const
    {
        return present && &start == &*present ? start.schedule : unfolded(*start.problem, start.schedule);
    }
    void add(const PipelineProblem& problem, Schedule schedule, double span, const std::string& name);
    void constructNext();
    void startChains();
    double temperature(std::size_t chain) const;
    bool runEpoch();
    void rankChains();
    void exchange();
    void collect();
};

Synthesiser::State::State(SynthesisRequest asked) : request(std::move(asked))
{
    checkNumbers(request);
    const double cap = capOf(request);
    for (PipelineProblem& problem : placementsOf(request))
        problems.push_back(std::make_unique<PipelineProblem>(std::move(problem)));
    const double least = leastMemory(request);
    std::erase_if(problems, [](const auto& problem) { return !problem->fits(leastCap(*problem)); });
    if (problems.empty())
        throw Error("auto cannot keep a rank within " + tenDigits(cap) + ": one micro-batch on all chunks of a rank holds " +
                    tenDigits(least) + "; nearest cap that works: " + tenDigits(least));

    for (std::size_t i = 0, placements = problems.size(); i < placements; ++i) {
        PipelineProblem counted = *problems[i];
        counted.cap = std::max(counted.cap, request.boundCap);
        const SpanBound of = spanBound(counted);
        if (bound.name.empty() || of.span < bound.span)
            bound = of;
        scope += (scope.empty() ? "a " : i + 1 == placements ? " or a " : ", a ") + problems[i]->topology;
        if (gainsFromWholeBackwards(*problems[i]))
            problems.push_back(std::make_unique<PipelineProblem>(withWholeBackwards(*problems[i])));
    }
    for (const auto& problem : problems) {
        for (Construction& construction : constructionsFor(*problem))
            portfolio.emplace_back(problem.get(), std::move(construction));
        planned = std::max(planned, movesFor(*problem));
    }
    if (request.moves > 0)
        planned = request.moves;
    const auto share = static_cast<std::int64_t>(kChains) * kCycles * kEpochs;
    epochMoves = (planned + share - 1) / share;
    for (const PassTimes& times : problems.front()->times)
        meanPass += times.total() / 3 / static_cast<double>(problems.front()->times.size());
    constructNext(); // one micro-batch at a time: there is always a result
    takePresent();
}

/// Next in the portfolio, with all backwards split and with all whole; and as it is, which may be neither.
void Synthesiser::State::takePresent()
{
    if (!request.present)
        return;
    const Schedule& order = *request.present;
    auto next = portfolio.begin() + static_cast<std::ptrdiff_t>(constructed);
    for (const auto& problem : problems) {
        if (!isOrderOf(*problem, order))
            continue;
        const ScheduleTimes times = evaluateSchedule(order, request.times, request.memory);
        if (problem->fits(*std::max_element(times.peakActivations.begin(), times.peakActivations.end())))
            present = Start{problem.get(), order, times.span, "the present order"};
        Construction given{.kind = Construction::Kind::given, .name = "an order like the present one"};
        if (!problem->whole)
            given.name += ", split backwards";
        given.schedule = order;
        next = portfolio.insert(next, {problem.get(), std::move(given)}) + 1;
    }
}

void Synthesiser::State::add(const PipelineProblem& problem, Schedule schedule, double span, const std::string& name)
{
    const auto behind = std::find_if(starts.begin(), starts.end(), [&](const Start& of) { return of.span >= span; });
    if (behind != starts.end() && behind->span == span && behind->problem == &problem)
        return;
    starts.insert(behind, {&problem, std::move(schedule), span, name});
    if (starts.size() > kChains)
        starts.pop_back();
    best = starts.front();
}

void Synthesiser::State::constructNext()
{
    const auto& [problem, construction] = portfolio[constructed];
    Candidate candidate = construct(*problem, construction);
    ++constructed;
    outcomes.push_back({.name = construction.name + (problem->whole ? ", whole backwards" : ""),
                        .topology = problem->topology,
                        .span = candidate.span,
                        .peak = candidate.peak,
                        .whyNot = candidate.whyNot,
                        .repairedSpan = candidate.repairedSpan});
    const std::string name = construction.name + " on a " + problem->topology + (problem->whole ? ", every backward whole" : "");
    if (candidate.fits)
        add(*problem, std::move(*candidate.schedule), candidate.span, name);
    else if (candidate.repaired)
        add(*problem, std::move(*candidate.repaired), candidate.repairedSpan, name + ", brought under the cap");
}

/// From the better half of what the constructions gave, the best one twice.
void Synthesiser::State::startChains()
{
    const std::size_t used = std::min(starts.size(), kChains / 2);
    std::vector<Chain> begun;
    for (std::size_t i = 0; i < kChains; ++i) {
        checkCancelled();
        const std::size_t start = i % used;
        begun.push_back({WordSearch(*starts[start].problem, starts[start].schedule, 0x5eed + i), epochMoves, start});
    }
    chains = std::move(begun);
}

double Synthesiser::State::temperature(std::size_t chain) const
{
    const double warm = 1 - static_cast<double>(epoch % kEpochs) / static_cast<double>(kEpochs - 1);
    // A parabola instead of a power of e: the same on every machine.
    return meanPass * (kColdest + (kHottest[chain % kHottest.size()] - kColdest) * warm * warm);
}

/// False if cancelled on the way.
bool Synthesiser::State::runEpoch()
{
    forEachInParallel(chains.size(), static_cast<std::size_t>(std::max(0, request.threads)), [&](std::size_t i) {
        Chain& chain = chains[i];
        chain.left -= chain.search.run(chain.left, temperature(i));
    });
    return std::all_of(chains.begin(), chains.end(), [](const Chain& chain) { return chain.left == 0; });
}

void Synthesiser::State::rankChains()
{
    ranking.resize(chains.size());
    std::iota(ranking.begin(), ranking.end(), 0U);
    std::stable_sort(ranking.begin(), ranking.end(),
                     [&](std::size_t a, std::size_t b) { return chains[a].search.bestSpan() < chains[b].search.bestSpan(); });
    exchanged = 0;
}

/// At the end of a cycle the worse half goes on from the best, and everyone from the best it has seen. Cut short, it goes on with
/// the chain that it was at: what a chain returns to is still there.
void Synthesiser::State::exchange()
{
    for (; exchanged < ranking.size(); ++exchanged) {
        Chain& chain = chains[ranking[exchanged]];
        if (exchanged < ranking.size() / 2) {
            chain.search.returnToBest();
        } else {
            chain.search.adopt(chains[ranking[0]].search);
            chain.start = chains[ranking[0]].start;
        }
    }
}

void Synthesiser::State::collect()
{
    for (const Chain& chain : chains)
        if (chain.search.bestSpan() < best.span) {
            best.problem = starts[chain.start].problem;
            best.schedule = chain.search.best();
            best.span = chain.search.bestSpan();
            best.name = starts[chain.start].name + ", then searched";
        }
}

double leastMemory(const SynthesisRequest& request)
{
    double least = std::numeric_limits<double>::infinity();
    for (const PipelineProblem& problem : placementsOf(request))
        least = std::min(least, leastCap(problem));
    return least;
}

Schedule leastMemoryOrder(const SynthesisRequest& request)
{
    const std::vector<PipelineProblem> placements = placementsOf(request);
    PipelineProblem whole = withWholeBackwards(*std::min_element(
        placements.begin(), placements.end(), [](const auto& a, const auto& b) { return leastCap(a) < leastCap(b); }));
    whole.cap = std::numeric_limits<double>::infinity();
    return unfolded(whole, *construct(whole, {.name = "one micro-batch at a time"}).schedule);
}

std::vector<Schedule> ordersByMemory(const SynthesisRequest& request)
{
    constexpr int kMost = 16;
    std::vector<Schedule> orders;
    for (const PipelineProblem& placement : placementsOf(request)) {
        PipelineProblem whole = withWholeBackwards(placement);
        const double one = leastCap(placement);
        const std::vector<Construction> all = constructionsFor(whole);
        const auto family =
            std::find_if(all.begin(), all.end(), [](const auto& of) { return of.kind == Construction::Kind::family; });
        for (int atATime = 1; family != all.end() && atATime <= kMost; ++atATime) {
            whole.cap = one * atATime;
            const Candidate made = construct(whole, *family);
            if (const auto& order = made.fits ? made.schedule : made.repaired)
                orders.push_back(unfolded(whole, *order));
            if (made.fits || !made.schedule)
                break;
        }
    }
    return orders;
}

Synthesiser::Synthesiser(SynthesisRequest request) : m_state(std::make_unique<State>(std::move(request))) {}
Synthesiser::~Synthesiser() = default;
Synthesiser::Synthesiser(Synthesiser&&) noexcept = default;
Synthesiser& Synthesiser::operator=(Synthesiser&&) noexcept = default;

void Synthesiser::step(std::int64_t moves)
try {
    State& state = *m_state;
    while (state.constructed < state.portfolio.size()) {
        checkCancelled();
        if (state.optimal())
            return;
        state.constructNext();
    }
    if (state.chains.empty())
        state.startChains();
    // A step that reaches the plan's end stops there, so that the plan's result does not depend on the steps.
    const std::int64_t until = state.moves < state.planned ? std::min(state.planned, state.moves + moves) : state.moves + moves;
    while (state.moves < until && !cancelRequested() && !state.optimal()) {
        state.exchange();
        const bool whole = state.runEpoch();
        state.collect();
        if (!whole)
            return;
        state.moves += state.epochMoves * static_cast<std::int64_t>(kChains);
        for (Chain& chain : state.chains)
            chain.left = state.epochMoves;
        if (++state.epoch % kEpochs == 0)
            state.rankChains();
    }
} catch (const Cancelled&) {
    // A construction that was cut short has left nothing behind, and is made anew.
}

bool Synthesiser::done() const
{
    return m_state->optimal() || (m_state->constructed == m_state->portfolio.size() && m_state->moves >= m_state->planned);
}

SynthesisProgress Synthesiser::progress() const
{
    return {.span = m_state->shortest().span,
            .bound = m_state->bound.span,
            .construction = m_state->shortest().name,
            .constructionsDone = m_state->constructed,
            .constructions = m_state->portfolio.size(),
            .moves = m_state->moves,
            .movesPlanned = m_state->planned};
}

Synthesis Synthesiser::result() const
{
    const State& state = *m_state;
    const Start& shortest = state.shortest();
    const Schedule order = state.orderOf(shortest);
    Synthesis synthesis{.schedule = order,
                        .times = evaluateSchedule(order, state.request.times, state.request.memory),
                        .bound = state.bound.span,
                        .boundName = std::string(state.bound.name),
                        .scope = state.scope,
                        .construction = shortest.name,
                        .constructions = state.outcomes,
                        .moves = state.moves};
    synthesis.peak = *std::max_element(synthesis.times.peakActivations.begin(), synthesis.times.peakActivations.end());
    return synthesis;
}

std::vector<Schedule> Synthesiser::finalists() const
{
    const State& state = *m_state;
    std::vector<Schedule> orders{state.orderOf(state.shortest())};
    const auto offer = [&](const Start* order) {
        if (order == nullptr)
            return;
        Schedule schedule = state.orderOf(*order);
        if (std::none_of(orders.begin(), orders.end(), [&](const Schedule& other) {
                return other.actions == schedule.actions && other.stageToRank == schedule.stageToRank;
            }))
            orders.push_back(std::move(schedule));
    };
    if (state.present)
        offer(&*state.present);
    for (const auto& problem : state.problems) {
        const Chain* searched = nullptr;
        for (const Chain& chain : state.chains)
            if (state.starts[chain.start].problem == problem.get() &&
                (searched == nullptr || chain.search.bestSpan() < searched->search.bestSpan()))
                searched = &chain;
        if (searched != nullptr) {
            const Start found{problem.get(), searched->search.best(), searched->search.bestSpan(), ""};
            offer(&found);
        }
        const auto made = std::find_if(state.starts.begin(), state.starts.end(),
                                       [&](const Start& start) { return start.problem == problem.get(); });
        offer(made == state.starts.end() ? nullptr : &*made);
    }
    return orders;
}

std::string synthesisText(const Synthesis& synthesis, std::string_view unit)
{
    std::ostringstream text;
    text << "span " << synthesis.times.span << unit << "; by pass times and latencies no order of whole micro-batches on "
         << synthesis.scope << " is below " << synthesis.bound << unit << ": ";
    if (synthesis.optimal())
        text << "the best";
    else
        text << "within " << std::setprecision(3) << 100 * synthesis.gap() << " % of the best";
    return text.str();
}

Synthesis synthesise(const SynthesisRequest& request, const std::function<void(const SynthesisProgress&)>& watch)
{
    Synthesiser synthesiser(request);
    // The constructions alone first, so that the first picture comes early.
    for (std::int64_t moves = 0; !synthesiser.done();
         moves = std::max<std::int64_t>(1, synthesiser.progress().movesPlanned / 50)) {
        synthesiser.step(moves);
        checkCancelled();
        if (watch)
            watch(synthesiser.progress());
    }
    return synthesiser.result();
}

} // namespace sim
