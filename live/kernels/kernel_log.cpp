#include "live/kernels/kernel_log.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <string_view>
#include <utility>

namespace live {
namespace {

template <class Value>
void forgetOldest(std::map<std::uint32_t, Value>& waiting, std::size_t most)
{
    while (waiting.size() > most)
        waiting.erase(waiting.begin());
}

/// Where the bracket that opens at `open` is closed; the text's end if nowhere.
std::size_t closing(std::string_view text, std::size_t open)
{
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
        if (text[i] == '<' || text[i] == '(')
            ++depth;
        if ((text[i] == '>' || text[i] == ')') && --depth == 0)
            return i;
    }
    return text.size();
}

} // namespace

void KernelLog::match(KernelScope scope, KernelTime&& kernel)
{
    kernel.scope = scope;
    m_ofOwner[ownerOf(scope)].push_back(std::move(kernel));
}

void KernelLog::addKernel(std::uint32_t launch, const char* name, std::int64_t startNs, std::int64_t endNs)
{
    KernelTime kernel{.name = shortKernelName(name), .startNs = startNs, .endNs = endNs};
    const std::lock_guard lock(m_mutex);
    if (const auto known = m_scopes.find(launch); known != m_scopes.end()) {
        match(known->second, std::move(kernel));
        m_scopes.erase(known);
        return;
    }
    m_kernels.insert_or_assign(launch, std::move(kernel));
    forgetOldest(m_kernels, kMostWaiting);
}

void KernelLog::addScope(std::uint32_t launch, KernelScope scope)
{
    const std::lock_guard lock(m_mutex);
    if (const auto known = m_kernels.find(launch); known != m_kernels.end()) {
        match(scope, std::move(known->second));
        m_kernels.erase(known);
        return;
    }
    m_scopes.insert_or_assign(launch, scope);
    forgetOldest(m_scopes, kMostWaiting);
}

std::vector<KernelTime> KernelLog::take(int owner)
{
    std::vector<KernelTime> kernels;
    {
        const std::lock_guard lock(m_mutex);
        kernels.swap(m_ofOwner[owner]);
    }
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const KernelTime& a, const KernelTime& b) { return a.startNs < b.startNs; });
    return kernels;
}

std::string shortKernelName(const char* name)
{
    if (!name)
        return "kernel";
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    const std::string_view whole = status == 0 && demangled ? demangled.get() : name;
    std::string plain, argument; // without brackets; what the first angle brackets hold, up to a comma or bracket
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (whole[i] != '<' && whole[i] != '(') {
            plain += whole[i];
            continue;
        }
        const std::size_t end = closing(whole, i);
        if (whole[i] == '<' && argument.empty())
            argument = whole.substr(i + 1, std::min(whole.find_first_of(",<>(", i + 1), end) - i - 1);
        if (whole[i] == '(' && !plain.empty() && plain.back() != ':' && plain.back() != ' ')
            break; // parameters
        i = end;
    }
    const auto lastWord = [](std::string_view text) {
        text = text.substr(0, text.find_last_not_of(' ') + 1);
        const std::size_t before = text.find_last_of(" :");
        return std::string(before == std::string_view::npos ? text : text.substr(before + 1));
    };
    const std::string word = lastWord(plain);
    if (word.empty())
        return std::string(whole);
    return word == "Kernel" || word == "Kernel2" ? lastWord(argument) : word;
}

} // namespace live
