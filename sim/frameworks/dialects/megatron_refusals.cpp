// Arguments of Megatron that it takes one by one and refuses together: megatron/training/arguments.py (validate_args),
// megatron/core/transformer/transformer_config.py and moe/moe_layer.py of NVIDIA/Megatron-LM at d98e8a6.
#include "sim/frameworks/job.h"

#include "sim/text/quoted.h"

#include <string>
#include <string_view>

namespace sim::frameworks {
namespace {

class Refusals {
public:
    explicit Refusals(Job& job) : m_job(job), m_reading(job.reading) {}

    void ofTorchFsdp()
    {
        constexpr std::string_view kFsdp = "use_torch_fsdp2";
        if (!isOn(kFsdp))
            return;
        std::string text;
        const auto add = [&text](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
        if (m_job.pp > 1)
            add(named("pipeline_model_parallel_size"));
        if (memberOr<int>(m_job.layout, "ep", 1) > 1)
            add(named("expert_model_parallel_size"));
        for (const std::string_view name : {"use_distributed_optimizer", "fp16"})
            if (isOn(name))
                add(named(name));
        const bool isTied = memberOr<bool>(m_job.model, "tie_word_embeddings", false);
        if (isTied)
            add("tied embeddings (" + m_reading.spelled("untie_embeddings_and_output_weights") + " is not given)");
        if (!text.empty())
            tell(kFsdp, "is refused beside " + text);
    }
    void ofMegatronFsdp()
    {
        const Json* const format = m_reading.peek("ckpt_format");
        if (isOn("use_megatron_fsdp") && format != nullptr && *format != Json("fsdp_dtensor"))
            tell("use_megatron_fsdp", "takes --ckpt-format fsdp_dtensor alone, and " + named("ckpt_format") + " is given");
    }
    void ofTensorParallelism()
    {
        const bool cutsSequences = memberOr<bool>(m_job.layout, "sequence_parallel", false);
        if (isOn("tp_comm_overlap") && !cutsSequences)
            tell("tp_comm_overlap", m_job.tp == 1 ? "takes sequence parallelism, which tensor parallelism 1 (" +
                                                        m_reading.placeOf("tensor_model_parallel_size") + ") switches off"
                                                  : "takes sequence parallelism, which is not given or off");
        if (memberOr<int>(m_job.model, "num_experts", 0) > 1 && m_job.tp > 1 && !cutsSequences)
            tell("num_experts", "are not trained with " + named("tensor_model_parallel_size") +
                                    " without sequence parallelism, which is not given or off");
    }
    void ofRecomputation()
    {
        const Json* const granularity = m_reading.peek("recompute_granularity");
        if (granularity == nullptr || *granularity != Json("full") || isOn("recompute_activations") ||
            m_reading.spelled("recompute_granularity").find("granularity") == std::string::npos) // an older flag, whole in itself
            return;
        for (const std::string_view name : {"recompute_method", "recompute_num_layers"})
            if (m_reading.peek(name) == nullptr) {
                tell("recompute_granularity",
                     "full is refused without " + m_reading.spelled(name) + " by today's Megatron: one layer each is imported");
                return;
            }
    }
    void ofChunks()
    {
        constexpr std::string_view kLayout = "pipeline_model_parallel_layout";
        constexpr std::string_view kCounts[] = {"num_virtual_stages_per_pipeline_rank", "num_layers_per_virtual_pipeline_stage"};
        for (const std::string_view name : kCounts) {
            if (m_reading.peek(name) == nullptr)
                continue;
            if (m_reading.peek(kLayout) != nullptr)
                tell(name, "is refused beside " + named(kLayout) + ", which counts");
            else if (m_job.pp == 1)
                tell(name, "cuts stages of a pipeline, and there is one (" + m_reading.placeOf("pipeline_model_parallel_size") +
                               "): no chunks are imported");
        }
    }

private:
    bool isOn(std::string_view name) const
    {
        const Json* const value = m_reading.peek(name);
        return value != nullptr && *value != Json(false) && *value != Json("False");
    }
    /// "--fp16 of line 3"
    std::string named(std::string_view name) const
    {
        const Json* const value = m_reading.peek(name);
        const bool hasValue = value != nullptr && !value->is_boolean();
        return m_reading.spelled(name) + (hasValue ? " " + shownText(shownValue(*value), 60) : std::string()) + " (" +
               m_reading.placeOf(name) + ")";
    }
    void tell(std::string_view name, const std::string& text) { m_reading.say(name, Became::contradictory, text); }

    Job& m_job;
    Reading& m_reading;
};

} // namespace

void tellRefusedMegatronArguments(Job& job)
{
    Refusals refusals(job);
    refusals.ofTorchFsdp();
    refusals.ofMegatronFsdp();
    refusals.ofTensorParallelism();
    refusals.ofRecomputation();
    refusals.ofChunks();
}

} // namespace sim::frameworks
