#include "sim/model/parameters.h"

namespace sim {
namespace {

/// The tied head is the embedding, and prediction modules use those of the model: counted once. Adapters are no part of it.
Checked count(const Model& model, ModelPart part, Experts experts)
{
    Checked total;
    for (const Tensor& tensor : tensorsOf(model, part))
        if (!tensor.tiedToEmbedding && !tensor.ofMainModel && !tensor.isAdapter())
            total += tensor.elementCount() * tensor.copies(experts);
    return total;
}

std::int64_t count(const Model& model, Experts experts)
{
    return countedAs("parameters of the model", [&] {
        Checked total;
        for (const ModelPart part : kModelParts)
            total += part == ModelPart::prediction ? Checked(0) : partCount(model, part) * count(model, part, experts);
        return total;
    });
}

} // namespace

std::int64_t parameterCount(const Model& model)
{
    return count(model, Experts::all);
}

std::int64_t activeParameterCount(const Model& model)
{
    return count(model, Experts::ofToken);
}

std::int64_t predictionParameterCount(const Model& model)
{
    return countedAs("parameters of multi-token prediction",
                     [&] { return partCount(model, ModelPart::prediction) * count(model, ModelPart::prediction, Experts::all); });
}

std::int64_t trainableParameterCount(const Model& model)
{
    return countedAs("trained parameters", [&] {
        if (!model.lora.isOn())
            return static_cast<std::int64_t>(Checked(parameterCount(model)) + predictionParameterCount(model));
        Checked total;
        for (const ModelPart part : kModelParts)
            for (const Tensor& tensor : tensorsOf(model, part))
                total += tensor.isAdapter() ? partCount(model, part) * tensor.elementCount() : Checked(0);
        return static_cast<std::int64_t>(total);
    });
}

std::int64_t trainableTensorCount(const Model& model)
{
    Checked total;
    for (const ModelPart part : kModelParts)
        for (const Tensor& tensor : tensorsOf(model, part))
            if (tensor.isTrained(model) && !tensor.tiedToEmbedding && !tensor.ofMainModel &&
                (!tensor.isAdapter() || model.lora.isOn()))
                total += partCount(model, part) * Checked(tensor.copies(Experts::all));
    return total;
}

std::int64_t parameterCount(const Model& model, ModelPart part)
{
    return count(model, part, Experts::all);
}

} // namespace sim
