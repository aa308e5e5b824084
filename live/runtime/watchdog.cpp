#include "live/runtime/watchdog.h"

#include "live/record/flight_record.h"
#include "live/runtime/run.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace live {

Watchdog::Watchdog(Run& run, std::chrono::milliseconds deadline)
    : m_thread([&run, deadline](const std::stop_token& stop) {
          std::vector<const FlightRecord*> records;
          for (Rank* rank : run.ranks())
              records.push_back(&rank->context().flight);
          const auto interval = std::clamp(deadline / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
          std::mutex mutex;
          std::condition_variable_any sleep;
          std::unique_lock lock(mutex);
          while (!sleep.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
              const std::string stall =
                  describeStall(records, nowNs(), std::chrono::duration_cast<std::chrono::nanoseconds>(deadline).count());
              if (stall.empty())
                  continue;
              run.abort("nothing moved for too long: " + stall);
              return;
          }
      })
{
}

} // namespace live
