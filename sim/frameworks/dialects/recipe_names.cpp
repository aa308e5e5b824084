#include "sim/frameworks/dialects/recipe_names.h"

#include "sim/frameworks/job.h"

namespace sim::frameworks {

void dropBlocks(Reading& reading)
{
    reading.rename([](const std::string& name) {
        for (const std::string_view block :
             {"model.", "train.", "ddp.", "dist.", "comm_overlap.", "language_model.", "model_parallel."})
            if (name.starts_with(block))
                return name.substr(block.size());
        return name;
    });
}

std::string spelledInModel(std::string_view name)
{
    return name.starts_with('@') || name.find_first_of(". ") != std::string_view::npos ? std::string(name)
                                                                                       : "model." + std::string(name);
}

void tellPackedSequence(Reading& reading)
{
    for (const char* block : {"data.", "dataset.", "data.train_ds.", "dataset_config.", ""})
        for (const char* name : {"packed_sequence", "packed_sequence_size", "packed_sequence_specs.packed_sequence_size"}) {
            const std::string setting = std::string(block) + name;
            const Json* const given = reading.peek(setting);
            if (given == nullptr)
                continue;
            const bool isOff = *given == Json(false) || (given->is_number() && given->get<double>() <= 0);
            reading.say(setting, isOff ? Became::harmless : Became::notRepresentable,
                        isOff ? "is switched off" : std::string(kPackedDocuments));
        }
}

} // namespace sim::frameworks
