// torchtitan's sequences and batches: of a rank, of the pipeline, of a step.
#include "sim/frameworks/dialects/torchtitan_parts.h"
#include "sim/frameworks/limits.h"

#include <algorithm>

namespace sim::frameworks {
namespace {

/// Gradients that are accumulated beside a pipeline are pipelines one after the other, each filled and drained (train.py); a step
/// of a scenario is one of them.
int ofOneFlush(Job& job, int local, int global)
{
    Reading& reading = job.reading;
    const long long step = 1LL * local * job.dp;
    if (step >= global)
        return global;
    const char* setting = "training.global_batch_size";
    for (const char* name : {"training.num_tokens_per_train_step", "training.gradient_accumulation_steps"})
        if (!reading.has(setting) && reading.has(name))
            setting = name;
    const std::string of = std::to_string(local) + " sequences x dp " + std::to_string(job.dp) + " = " + std::to_string(step);
    if (global % step != 0) {
        reading.say(setting, Became::contradictory,
                    "a global batch of " + std::to_string(global) + " is not a multiple of the local batch: " + of +
                        "; nearest: " + std::to_string(global / step * step) + ", " + std::to_string((global / step + 1) * step));
        return static_cast<int>(step);
    }
    reading.say(setting, Became::notRepresentable,
                "torchtitan fills and drains the pipeline " + std::to_string(global / step) + " times for a global batch of " +
                    std::to_string(global) + ", each time with " +
                    std::to_string(local / std::max(1, job.microBatch.value_or(1))) + " micro-batches (" + of +
                    "); a step of the scenario is one pipeline: one of them is imported, a global batch of " +
                    std::to_string(step),
                "/training/global_batch_size");
    return static_cast<int>(step);
}

/// The group of an interleaved schedule, and what PyTorch refuses of too few micro-batches.
void dealMicrobatches(Job& job)
{
    const std::string kind = memberOr<std::string>(job.schedule, "kind", "1f1b");
    const long long each = 1LL * *job.microBatch * job.dp;
    const int microbatches = static_cast<int>(*job.globalBatch / each);
    if (microbatches < 1 || *job.globalBatch % each != 0) // settleBatch has told
        return;
    const std::string of = std::to_string(microbatches) + " on " + std::to_string(job.pp) + " pipeline ranks";
    if (kind != "interleaved-1f1b" && kind != "interleaved-zb") { // which deal in groups
        if ((kind == "1f1b" || kind == "gpipe") && microbatches < job.pp)
            job.reading.addNote("micro-batches", Became::contradictory,
                                "PyTorch's GPipe and 1F1B take no fewer micro-batches than stages: " + of,
                                "/training/global_batch_size");
        return;
    }
    const int group = microbatchGroupOf("torchtitan", job.pp, microbatches);
    if (group == 0)
        job.reading.addNote("micro-batches", Became::contradictory,
                            "PyTorch deals micro-batches in equal rounds, as many as they fill the ranks, and cannot deal " + of,
                            "/training/global_batch_size");
    else if (group != job.pp)
        job.schedule["microbatch_group"] = group;
}

} // namespace

void readTitanBatch(Job& job, bool isOf2024)
{
    Reading& reading = job.reading;
    if (const auto length = reading.integer("training.seq_len", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    else {
        job.training["sequence_length"] = 2048;
        reading.byDefault("training.seq_len", 2048, "/training/sequence_length");
    }
    const int length = std::max(1, memberOr<int>(job.training, "sequence_length", 2048));
    int local = 0;
    if (const auto tokens = reading.integer("training.num_tokens_per_microbatch_per_dp_rank", "/training/micro_batch_size");
        tokens && *tokens > 0) {
        local = std::max(1, *tokens / length);
        if (*tokens % length != 0)
            reading.say("training.num_tokens_per_microbatch_per_dp_rank", Became::notRepresentable,
                        std::to_string(*tokens) + " tokens are no whole number of sequences of " + std::to_string(length) + ": " +
                            std::to_string(local) + " imported");
        job.microBatch = local;
        std::optional<int> parts = 1;
        if (job.pp > 1)
            parts = reading.size("parallelism.pipeline_parallel_microbatches", "/training/global_batch_size");
        if (!parts)
            reading.byDefault("parallelism.num_pp_microbatches", 1, "/training/global_batch_size",
                              "are not given: one micro-batch fills the pipeline");
        local = static_cast<int>(std::min<long long>(1LL * local * parts.value_or(1), 1 << 24));
    } else {
        local = reading.sizeOr("training.local_batch_size", "/training/micro_batch_size", 8);
        int micro = local;
        if (job.pp > 1) {
            if (const auto parts = reading.integer("parallelism.pipeline_parallel_microbatches", "/training/micro_batch_size");
                parts && *parts > 0)
                micro = std::max(1, local / *parts);
            else if (isOf2024) {
                micro = std::max(1, local / job.pp);
                reading.byDefault("experimental.pipeline_parallel_microbatches", job.pp, "/training/micro_batch_size",
                                  "are not given: as many micro-batches as stages");
            } else
                micro = std::clamp(
                    reading.integerOr("parallelism.pipeline_parallel_microbatch_size", "/training/micro_batch_size", 1), 1,
                    local);
        }
        job.microBatch = micro;
    }
    const long long step = std::min<long long>(1LL * local * job.dp, 1 << 30);
    int global = static_cast<int>(step);
    if (const auto tokens = reading.any("training.num_tokens_per_train_step", "/training/global_batch_size");
        tokens && tokens->is_number() && tokens->get<double>() > 0)
        global = static_cast<int>(std::clamp(tokens->get<double>() / length, 1.0, 1e9));
    else if (const auto asked = reading.integer("training.global_batch_size", "/training/global_batch_size"); asked && *asked > 0)
        global = *asked;
    else
        reading.byDefault("training.global_batch_size", -1, "/training/global_batch_size",
                          "is not given: local batch x dp, no accumulation");
    // flame, which is torchtitan for other models, counts them
    if (const auto parts = reading.size("training.gradient_accumulation_steps", "/training/global_batch_size");
        parts && *parts > 1) {
        const std::int64_t all = std::min<std::int64_t>(step * *parts, 1 << 30);
        if (!reading.has("training.global_batch_size"))
            global = static_cast<int>(all);
    }
    job.globalBatch = job.pp > 1 ? ofOneFlush(job, local, global) : global;
    settleBatch(job);
    if (job.pp > 1)
        dealMicrobatches(job);
}

} // namespace sim::frameworks
