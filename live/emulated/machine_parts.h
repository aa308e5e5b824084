// What the machine is made of: for its own sources only.
#pragma once

#include "live/emulated/machine.h"

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace live::emulated {

struct Machine::Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    int gpu = 0;
    Shadow shadow;
    ~Block() { std::free(data); }
};

struct Machine::Gpu {
    std::vector<std::deque<std::unique_ptr<Operation>>> queues;
    std::vector<std::unique_ptr<Stream>> streams;
    std::int64_t bytesUsed = 0;
    std::set<int> peers;
    std::set<std::uint32_t> loaded; ///< names of kernels
};

struct Machine::Host {
    int number = 0;
    std::string name;
    std::shared_ptr<const Clock> clock = std::make_shared<Clock>();
    bool ended = false, away = false;             ///< away: it waits for hosts that it started
    const std::function<bool()>* ready = nullptr; ///< of a call that it waits in
    const std::function<Wait()>* why = nullptr;
    std::condition_variable turn;
};

} // namespace live::emulated
