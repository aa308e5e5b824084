// What no trace holds, as it would be: memory, traffic and storage of the recovered configuration, simulated. Without a model and
// a cluster it says what is missing, and how it is recorded.
#pragma once

#include "app/canvas/qt/canvas_widget.h"
#include "app/session/recorded_run.h"
#include "app/shell/widgets/figure_source.h"
#include "app/step/selection.h"
#include "app/views/common/step_view.h"

#include <QWidget>

#include <array>
#include <memory>
#include <vector>

class QBoxLayout;
class QComboBox;
class QLabel;
class QStackedWidget;

namespace app {

enum class SimulatedPicture { memory, traffic, storage };

class RecordedSimulated : public QWidget {
    Q_OBJECT
public:
    RecordedSimulated(Selection&, Renderer, QWidget* parent = nullptr);
    ~RecordedSimulated() override;

    void show(const RecoveredRun*, const RecordedPredictionPtr&); ///< nullptr: there is no run
    void choose(SimulatedPicture);
    void setTheme(const Theme&);
    void requestFrame();
    View* viewOf(const CanvasWidget*) const; ///< nullptr: it is none of these
    /// Each picture, whether it was looked at or not; none before there is a prediction. `elsewhere`: how large one is that is
    /// not on screen.
    std::vector<FigureSource> figures(QSize elsewhere);
    QString words() const; ///< above the picture, or in its place

Q_SIGNALS:
    void used(CanvasWidget*);

protected:
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    static constexpr std::size_t kPictures = 3;
    void fill();
    void fillPicture(std::size_t);
    QString missing(SimulatedPicture) const;

    std::array<std::unique_ptr<StepView>, kPictures> m_views; ///< before the canvases that show them
    std::array<CanvasWidget*, kPictures> m_canvases{};
    std::array<bool, kPictures> m_isFilled{};
    const RecoveredRun* m_run = nullptr;
    RecordedPredictionPtr m_prediction;
    QComboBox* m_which;
    QLabel* m_words;
    QBoxLayout* m_top; ///< choice and words
    QStackedWidget* m_pages;
};

} // namespace app
