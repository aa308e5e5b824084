// What a process group is for: by what its frameworks call it, else by what its members send.
#pragma once

#include "sim/recovery/evidence.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Roles that name an axis first. dataReplicate and dataShard are parts of data, dataAndContext is both.
enum class GroupRole : std::uint8_t {
    tensor,
    context,
    data,
    pipeline,
    expert,
    dataReplicate,
    dataShard,
    dataAndContext,
    expertTensor,
    expertData,
    ends,      ///< first and last rank of a pipeline: tied embeddings
    composite, ///< tensor and data, a part of another group, an optimizer's instance: no axis of its own
    unknown
};
/// "tp", "cp", "dp", "pp", "ep", "dp_replicate", "dp_shard", "dp_cp", "etp", "edp", "embd", "several axes", "".
std::string_view groupRoleName(GroupRole);

/// From pg_desc: Megatron's `TENSOR_MODEL_PARALLEL_GROUP`, DeviceMesh's `mesh_tp`, plain `tp`. unknown for "undefined" and the
/// like.
GroupRole roleFromDescription(std::string_view);
/// "tp_ep", `EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP`: the ranks that together hold all experts of a layer. Where none is cut, the
/// axis of experts.
bool holdsAllExperts(std::string_view description);

/// What members of a group did with each other, summed over groups of a shape. Counts are per recorded rank and step.
struct Carried {
    std::array<double, kExchangeCount> count{}; ///< by Exchange
    std::array<double, kExchangeCount> bytes{};
    double earlyReduces = 0;                  ///< all-reduces and reduce-scatters before the first backward can have ended
    double attentionGathers = 0;              ///< all-gathers and rings that the next attention kernel waits for
    double guessedAllToAlls = 0;              ///< that may be sends and receives between neighbours as well
    double attentionAllToAlls = 0;            ///< all-to-alls that it waits for: heads are exchanged for slices of the sequence
    double alongLines = 0, roundRings = 0;    ///< kernels of sends and receives, of groups whose TransferWay is so
    double namedExperts = 0, namedTables = 0; ///< of its ranks, those that name experts; tables of embeddings dealt to ranks
    /// All-to-alls after which it computes without attention, and such after which it computes with attention, until the next.
    double apartFromAttention = 0, aroundAttention = 0;
    /// Of its ranks, those of which no backward is told; those that run a model and never train it; those that sum in collectives
    /// of which no group is known.
    double untold = 0, inferring = 0, sumsElsewhere = 0;
    double ranks = 0; ///< recorded ranks that took part; 0: nothing is known of what it carries
    double total() const;
    double of(Exchange e) const { return count[static_cast<std::size_t>(e)]; }
    Carried& operator+=(const Carried&);
};

struct GuessedRole {
    GroupRole role = GroupRole::unknown;
    double sure = 0; ///< 0 … 1
    std::string why; ///< "sends and receives, 16 a step and rank"
};
/// Whether attention waits for its all-to-alls: heads are exchanged for slices of the sequence.
bool exchangesHeads(const Carried&);
/// All that fit, as a job makes one group of the same ranks serve several axes; empty where nothing tells. `isPart`: of a group
/// that has others beside it. All-to-alls are no experts' by themselves: recommenders exchange rows of tables so.
std::vector<GuessedRole> rolesFromUse(const Carried&, bool isPart);

} // namespace sim
