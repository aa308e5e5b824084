#include "live/runtime/phases.h"

#include "sim/error.h"
#include "sim/text/failure_text.h"

#include <nlohmann/json.hpp>

namespace live {

using nlohmann::json;

std::vector<std::string> exchangeWithNobody(const std::string& text)
{
    return {text};
}

std::vector<json> Phases::together(const std::function<json()>& work, const std::function<void()>& undo) const
{
    json answer;
    try {
        answer["given"] = work();
    } catch (const std::exception& error) {
        answer["failed"] = sim::failureText(error);
    }
    std::vector<json> answers;
    std::string failure;
    for (const std::string& text : m_exchange(answer.dump(-1, ' ', false, json::error_handler_t::replace))) {
        const json each = json::parse(text);
        if (each.contains("failed") && failure.empty())
            failure = each.at("failed").get<std::string>();
        answers.push_back(each.value("given", json()));
    }
    if (failure.empty())
        return answers;
    if (undo)
        undo();
    const std::string prefix = m_topic + ": ";
    throw sim::Error(failure.starts_with(prefix) ? failure : prefix + failure);
}

} // namespace live
