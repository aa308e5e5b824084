// A thread of its own for what takes long, so that the window never waits. One job at a time, the most urgent first; what a job
// finds out is told on the owner's thread; whatever it throws is told as a message, and the next job is done.
//
//     // make: on the worker's thread, in a sim::CancelScope. What is done with it, or with its failure: on the owner's.
//     m_worker.ask(kTraces, [=] { return makeTrace(simulation); },
//                  [this](const TracePtr& trace) { show(trace); }, [this](const QString& why) { tell(why); });
#pragma once

#include <QObject>
#include <QString>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace app {

class Task;

/// What is to be done. Its parts may refer to the owner of the worker: what it tells is dropped with the worker.
struct Job {
    int kind = 0; ///< jobs of a lower kind are done first, those of one kind in their order
    /// On the worker's thread, in a sim::CancelScope: what takes long looks at it at least every 50 ms (sim/cancel.h).
    std::function<void(const Task& task)> work;
    /// On the owner's thread: what was thrown, for a person. Not called for jobs that are no longer wanted.
    std::function<void(const QString& why)> failed;
};

class Worker : public QObject {
    Q_OBJECT
public:
    explicit Worker(QObject* parent = nullptr);
    ~Worker() override; ///< as stop()

    /// A job that runs and has told nothing yet makes room for one of a lower kind, and is done anew afterwards.
    void submit(Job);
    /// The usual job: something is made, and somebody waits for it. Those of its kind that were asked for before are not wanted
    /// any more.
    template <typename Make, typename Done>
    void ask(int kind, Make make, Done done,
             std::function<void(const QString& why)> failed) // NOLINT(performance-unnecessary-value-param): it is moved
    {
        drop(kind);
        submit({.kind = kind,
                .work = [make = std::move(make),
                         done = std::move(done)](const auto& task) { task.tell([done, made = make()] { done(made); }); },
                .failed = std::move(failed)});
    }
    /// Jobs of that kind are not wanted any more, nor is anything that they have told and that was not heard yet.
    void drop(int kind);
    void dropAll();
    /// Drops everything and waits for the thread, which takes as long as the job that runs needs to notice. No job is done after
    /// it. Owners call it first of all when they go, unless the worker is the last of their members.
    void stop();
    /// The same, but what was submitted is done to its end; nothing more is told.
    void finish();
    /// There are jobs, or something told that was not heard yet.
    bool isBusy() const;

private:
    friend class Task;
    struct State;
    struct Told {
        std::shared_ptr<State> of;
        std::function<void()> call;
    };

    void run(const std::stop_token&);
    bool runNext(const std::stop_token&);
    void tell(const std::shared_ptr<State>&, std::function<void()>);
    void dropWhere(const std::function<bool(const State&)>&);
    Q_INVOKABLE void deliverOne();

    mutable std::mutex m_mutex;
    std::condition_variable_any m_wake;
    // Guarded by m_mutex:
    std::vector<std::shared_ptr<State>> m_jobs; ///< in the order they came, with the one that runs
    std::shared_ptr<State> m_running;
    std::deque<Told> m_told;

    std::jthread m_thread; ///< last: ends before what it uses
};

/// A job as it runs.
class Task {
public:
    /// Nobody waits for the job any more.
    bool isCancelled() const;
    /// The same for waiting at a condition variable.
    std::stop_token stopToken() const;
    /// Called on the owner's thread, in the order told, unless nobody waits for the job any more.
    void tell(std::function<void()>) const;

private:
    friend class Worker;
    Task(Worker& worker, std::shared_ptr<Worker::State> state) : m_worker(worker), m_state(std::move(state)) {}

    Worker& m_worker;
    std::shared_ptr<Worker::State> m_state;
};

} // namespace app
