#include "sim/frameworks/dialects/recipe_names.h"

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

} // namespace sim::frameworks
