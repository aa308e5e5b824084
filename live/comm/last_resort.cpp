#include "live/comm/last_resort.h"

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <utility>

namespace live {

LastResort::LastResort(std::chrono::milliseconds atMost, std::string why)
    : m_thread([atMost, why = std::move(why)](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any sleep;
          std::unique_lock lock(mutex);
          sleep.wait_for(lock, stop, atMost, [&] { return stop.stop_requested(); });
          if (stop.stop_requested())
              return;
          std::cerr << why + "\n" << std::flush;
          std::_Exit(EXIT_FAILURE);
      })
{
}

} // namespace live
