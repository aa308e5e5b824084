// Objectives of TRL (huggingface/trl at f2cd577: trl/trainer, trl/experimental), ms-swift's --rlhf_type, LLaMA-Factory's stage
// and OpenRLHF's programs, which have the same: what a step of each takes beside the trained model's own passes.
#include "sim/frameworks/dialects/objectives.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

struct TrainingObjective {
    std::string_view word;
    int sequences;          ///< of an example
    bool generates;         ///< the sequences it is trained on
    std::string_view lacks; ///< what the simulated step has not; empty: nothing
};
constexpr std::string_view kReferenceLacks = "the forward pass of the reference model is not simulated, nor is its memory";
constexpr std::string_view kGenerationLacks =
    "reinforcement: imported is the step that trains the model, on sequences as long as they may become; generation, rewards, "
    "and "
    "forward passes of other models (reference, critic, old policy) are not simulated, nor is their memory";
constexpr std::string_view kTeacherLacks = "the forward pass of the teacher is not simulated, nor is its memory";
constexpr std::string_view kRewardLacks =
    "the head gives one number a sequence, and no vocabulary: the product and the loss of a "
    "vocabulary are simulated in its place";
constexpr std::array<TrainingObjective, 28> kObjectives = {{
    {"sft", 1, false, ""},
    {"pt", 1, false, ""},
    {"dpo", 2, false, kReferenceLacks},
    {"orpo", 2, false, ""}, // chosen and rejected in one pass, and no other model
    {"cpo", 2, false, ""},
    {"simpo", 2, false, ""},
    {"kto", 1, false, kReferenceLacks},
    {"bco", 1, false, kReferenceLacks},
    {"rm", 2, false, kRewardLacks},
    {"reward", 2, false, kRewardLacks},
    {"prm", 1, false, kRewardLacks},
    {"grpo", 1, true, kGenerationLacks},
    {"gspo", 1, true, kGenerationLacks},
    {"dapo", 1, true, kGenerationLacks},
    {"rloo", 1, true, kGenerationLacks},
    {"reinforce", 1, true, kGenerationLacks},
    {"ppo", 1, true, kGenerationLacks},
    {"ppo_ray", 1, true, kGenerationLacks},
    {"ppov2", 1, true, kGenerationLacks},
    {"xpo", 2, true, kGenerationLacks},
    {"nash_md", 2, true, kGenerationLacks},
    {"online_dpo", 2, true, kGenerationLacks},
    {"gkd", 1, false, kTeacherLacks},
    {"gold", 1, false, kTeacherLacks},
    {"minillm", 1, false, kTeacherLacks},
    {"distillation", 1, false, kTeacherLacks},
    {"kd", 1, false, kTeacherLacks},
    {"knowledge_distillation", 1, false, kTeacherLacks},
}};

const TrainingObjective* objectiveOf(std::string_view word)
{
    const auto found =
        std::find_if(kObjectives.begin(), kObjectives.end(), [word](const TrainingObjective& one) { return one.word == word; });
    return found == kObjectives.end() ? nullptr : &*found;
}

} // namespace

bool isReinforcement(std::string_view word)
{
    const TrainingObjective* const objective = objectiveOf(word);
    return objective != nullptr && objective->generates;
}

int sequencesOfObjective(Job& job, std::string_view setting, std::string_view word)
{
    Reading& reading = job.reading;
    const TrainingObjective* const objective = objectiveOf(word.empty() ? "sft" : word);
    const auto tell = [&](Became became, const std::string& text) {
        if (reading.has(setting))
            reading.say(setting, became, text);
        else if (became != Became::harmless)
            reading.addNote(setting, became, text);
    };
    if (objective == nullptr) {
        tell(Became::unknown,
             quotedText(std::string(word)) + " is no objective that is known here: a supervised step is imported");
        return 1;
    }
    std::string text(objective->lacks);
    if (objective->sequences > 1)
        text = "an example is two sequences, which are counted as such" + (text.empty() ? "" : "; " + text);
    tell(text.empty() ? Became::harmless : objective->lacks.empty() ? Became::used : Became::notRepresentable, text);
    return objective->sequences;
}

void countSequences(Job& job, int sequencesOfExample)
{
    if (sequencesOfExample == 1 || !job.microBatch || !job.globalBatch)
        return;
    constexpr int kMost = 1 << 29;
    job.microBatch = std::min(*job.microBatch, kMost) * sequencesOfExample;
    job.globalBatch = std::min(*job.globalBatch, kMost) * sequencesOfExample;
    job.training["micro_batch_size"] = *job.microBatch;
    job.training["global_batch_size"] = *job.globalBatch;
}

} // namespace sim::frameworks
