// Attaches to a running training, here or elsewhere: listens on a thread of its own, keeps all it was told, and hands over what
// is new when asked. No Qt, no ZeroMQ in sight. In a window:
//
//   live::Viewer viewer("tcp://127.0.0.1:5555");
//   each frame (or on the wake-up call):
//       live::ViewerUpdate update;
//       if (viewer.poll(update))
//           draw(update.spans, update.steps, viewer.state());
//
// What is polled costs by what is new, never by what is kept. A viewer that does not poll (a hidden window) holds a bounded
// amount, then the run stops sending to it; when it polls again it gets what the run still keeps and the number it missed.
#pragma once

#include "live/stream/history.h"
#include "live/stream/keys.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace live {

enum class ViewerState : std::uint8_t {
    connecting, ///< nobody has answered yet; goes on trying
    connected,
    lost,    ///< was connected, and the run has fallen silent; goes on trying, and picks up where it was
    ended,   ///< the run said that it is over: RunState::status says how. Final
    refused, ///< wrong key, wrong version, too many viewers, another run at this address. Final
};

struct ViewerStateText {
    ViewerState state = ViewerState::connecting;
    std::string message; ///< for people: "the run at tcp://… refused the key …"
};

enum class RunRequest : std::uint8_t { pause, resume, stop, checkpoint };
const char* runRequestName(RunRequest);

/// What the run answered to a request.
struct RunReply {
    RunRequest request = RunRequest::pause;
    bool accepted = false;
    std::string message; ///< why not, or what was done ("checkpoint written to …")
};

/// What is new since the last poll.
struct ViewerUpdate {
    std::optional<RunDescription> description; ///< once, before anything else
    std::vector<sim::SpanKind> kinds;          ///< follow those of earlier updates: SpanRecord::kind counts through all
    std::vector<RankSpan> spans;               ///< in order of arrival; each rank's in its own order
    std::vector<RankMemory> memory;
    std::vector<StepSummary> steps; ///< new or changed, ascending: replace those of the same number
    std::optional<RunState> run;    ///< if it changed
    std::vector<RunReply> replies;  ///< to this viewer's requests
    bool stateChanged = false;      ///< state() says something else than before
    std::uint64_t missed = 0;       ///< spans that were gone before they could be sent to this viewer, since the last poll
    bool empty() const;
};

struct ViewerOptions {
    std::optional<ViewerKeys> keys; ///< where the run demands them: all but this machine's runs do
    HistoryLimits history;          ///< what history() keeps
    std::function<void()> wake;     ///< called from the viewer's thread when poll() has something new; must return at once
    std::chrono::milliseconds silence{2000}; ///< after which the connection counts as lost
};

class Viewer {
public:
    /// Returns at once; state() tells how it goes. Throws sim::Error if the endpoint is none or the keys are unusable.
    explicit Viewer(const std::string& endpoint, ViewerOptions = {});
    ~Viewer(); ///< says goodbye
    Viewer(const Viewer&) = delete;
    Viewer& operator=(const Viewer&) = delete;

    // Any thread, all of these.
    const std::string& endpoint() const;
    ViewerStateText state() const;
    /// Puts what is new into the update (which is overwritten) and returns whether there was anything. O(what is new).
    bool poll(ViewerUpdate&);
    /// All that was received and is kept, also after the run is gone: for saving a trace, for looking at older steps.
    RunHistory history() const;
    /// Answers come as RunReply. Without a connection: an answer that says so.
    void request(RunRequest);

private:
    class Thread;
    std::unique_ptr<Thread> m_thread;
};

} // namespace live
