// Whatever the text is, an expression is a value or an ExpressionError whose position lies in the text; soon, and in little
// memory.
#include "sim/lesson/expression.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

class Answers final : public sim::Names {
public:
    Meaning find(std::string_view name) const override
    {
        const auto found = m_values.find(std::string(name));
        if (found != m_values.end())
            return &*found;
        if (name == "half")
            return static_cast<const sim::Names*>(this);
        return {};
    }
    bool takesArguments(std::string_view name) const override { return name == "groups"; }
    Meaning call(std::string_view name, std::span<const double> arguments) const override
    {
        if (name != "groups" || arguments.size() != 1)
            return {};
        return &m_values.at("memory");
    }
    std::vector<std::string> known() const override { return {"step_time_s", "memory", "half"}; }

private:
    sim::LessonValue m_values = sim::LessonValue::parse(R"({"step_time_s":2.5,"fits":true,"kind":"1f1b","none":null,
        "memory":{"per_pipeline_rank":[{"total":1.5,"name":"a"},{"total":2,"name":"b"}],"tp":[0,1,2,3]}})");
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const Answers answers;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const sim::Expression expression = sim::Expression::parse(text);
        if (expression.text() != text)
            std::abort();
        static_cast<void>(expression.sides(answers));
        static_cast<void>(sim::shownValue(expression.evaluate(answers)));
    } catch (const sim::ExpressionError& error) {
        if (error.position() > size)
            std::abort();
    }
    return 0;
}
