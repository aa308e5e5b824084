// One rank of the job: its stages, its weights, and the step it runs: the schedule's actions in order, then the optimizer. A rank
// is a coroutine that pauses where it must wait for others.
#pragma once

#include "live/model/stage.h"
#include "live/runtime/data.h"
#include "live/runtime/weights.h"
#include "sim/schedule/schedule.h"

#include <atomic>
#include <cmath>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace live {

/// What all ranks of a run share.
struct Job {
    const sim::Scenario& scenario;
    const sim::Mesh& mesh;
    const sim::Schedule& schedule;
    const JobGroups& groups;
    TrainingOptions options;
    const TokenSource* data = nullptr;       ///< null: no inputs are made (dry run)
    const std::atomic<bool>* stop = nullptr; ///< set from outside: all ranks learn of it with the step's sums
};

/// What a step brought, the same on all ranks.
struct StepResult {
    double loss = 0;          ///< mean over the step's tokens, nats
    double auxiliaryLoss = 0; ///< of the experts
    double gradientNorm = 0;  ///< before clipping
    bool stop = false;        ///< a rank was asked to stop before this step began
    bool isFinite() const { return std::isfinite(loss) && std::isfinite(auxiliaryLoss) && std::isfinite(gradientNorm); }
};

class Rank {
public:
    Rank(const Job&, const RankContext::Parts&);

    /// `stepFromOne`: counts the optimizer's steps over resumptions.
    /// `inspects`: for a step whose result was not finite, and which therefore has changed nothing: makes it once more and throws
    /// sim::Error where the first tensor is not finite.
    Task<> step(int stepFromOne, double learningRate, bool inspects = false);

    const StepResult& result() const { return m_result; }
    RankContext& context() { return m_context; }
    Weights& weights() { return m_weights; }
    sim::Optimizer optimizer() const { return m_job.scenario.training.optimizer; }
    /// Called when the gradients are complete, before they are clipped.
    void onGradients(std::function<void(Rank&)> hook) { m_onGradients = std::move(hook); }

private:
    /// What one stage hands to a neighbour, named by the stage that gets it.
    struct Transfer {
        bool forward = true;
        int receiver = 0, microbatch = 0;
        auto operator<=>(const Transfer&) const = default;
    };
    struct Message {
        Array array;
        std::unique_ptr<Communication> transfer;
    };
    struct Arrivals {
        std::vector<Transfer> order; ///< as the peer sends
        std::size_t next = 0;        ///< first one not yet received
    };

    void makeStages(const Job&);
    void planTransfers();
    int rankOfStage(int stage) const; ///< global rank in this pipeline
    std::optional<Transfer> inputOf(const sim::Action&) const;
    std::optional<Transfer> outputOf(const sim::Action&) const;

    void makeInputs(int step);
    void makeHeadRows(Input&, const std::vector<std::int32_t>& positions);
    const Input& input(int microbatch) { return *m_inputs[static_cast<std::size_t>(microbatch)]; }
    Task<Array> take(const Transfer&);
    void give(const Transfer&, Array);
    void reapSends();
    Task<> run(const sim::Action&);
    Task<> finish(int stepFromOne, double learningRate);
    void inspect(Quantity);
    bool isLast(const sim::Action&);
    std::uint32_t actionKind(const sim::Action&);

    const Job& m_job;
    RankContext m_context;
    const Shape m_shape;
    Weights m_weights;
    std::unique_ptr<Bucket> m_tokenBucket, m_headBucket;
    std::map<int, std::unique_ptr<Stage>> m_stages; ///< by stage
    std::vector<int> m_pipeline;                    ///< global ranks of this pipeline, by pipeline rank

    std::map<int, Arrivals> m_arrivals;     ///< by peer
    std::map<Transfer, Message> m_received; ///< issued, not yet taken
    std::map<Transfer, Array> m_local;      ///< from one stage of this rank to another
    std::vector<std::unique_ptr<Message>> m_sent;
    std::vector<std::unique_ptr<Input>> m_inputs; ///< by micro-batch of the schedule
    std::map<int, int> m_gradientsLeft;           ///< weight gradients still to come, by stage
    std::map<std::pair<int, int>, std::uint32_t> m_actionKinds;

    Array m_words, m_clipFactor;
    StepResult m_result;
    std::function<void(Rank&)> m_onGradients;
};

} // namespace live
