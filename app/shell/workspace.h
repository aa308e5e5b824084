// The two pictures of a simulated step over one selection: the rank grid above, the timeline below.
#pragma once

#include "app/canvas/canvas_widget.h"
#include "app/session/simulator.h"
#include "app/shell/order_editor_panel.h"
#include "app/views/grid_view.h"
#include "app/views/pictures.h"
#include "app/views/selection.h"
#include "app/views/timeline_view.h"

#include <QWidget>

class QSplitter;

namespace app {

class Workspace : public QWidget {
    Q_OBJECT
public:
    explicit Workspace(Renderer = Renderer::automatic, QWidget* parent = nullptr);
    ~Workspace() override;

    /// Of a step; nullptr shows that there is none. What was selected and exists no more is forgotten.
    void setResult(SimulationPtr, TracePtr actions);
    /// The same step in more detail.
    void setTrace(TracePtr);
    /// Zoom and selection start anew: another scenario.
    void startAnew();
    /// The timeline tells the schedule action by action.
    void setStepping(bool);
    /// The order editor takes the timeline's place.
    void startEditing(OrderDraft);
    void stopEditing();
    bool isEditing() const;
    OrderEditorPanel& editor() const { return *m_editor; }
    void setTheme(const Theme&);

    const Selection& selection() const { return m_selection; }
    const TracePtr& trace() const { return m_trace; }
    void selectRank(int rank);
    /// What the pointer is over, else the dragged time range, in a line; empty for nothing.
    QString pointedText() const;

    /// Goes to the picture under the pointer, else to the one with the focus, else to the one used last.
    void runCommand(ViewCommand, bool fast);
    void setPictureVisible(Picture, bool);
    bool isPictureVisible(Picture) const;
    CanvasWidget& canvas(Picture picture) const { return picture == Picture::grid ? *m_gridCanvas : *m_timelineCanvas; }
    View& view(Picture picture) { return picture == Picture::grid ? static_cast<View&>(m_grid) : m_timeline; }
    QSplitter& splitter() const { return *m_splitter; }

signals:
    void selectionChanged();

private:
    void selectionMayHaveChanged(CanvasWidget& by);
    CanvasWidget& commandTarget() const;

    Selection m_selection, m_shownSelection;
    SimulationPtr m_simulation;
    TracePtr m_trace;
    GridView m_grid; ///< before the canvases that show them
    TimelineView m_timeline;
    QSplitter* m_splitter;
    QWidget* m_lower; ///< the timeline, or the order editor in its place
    CanvasWidget *m_gridCanvas, *m_timelineCanvas, *m_lastUsed;
    OrderEditorPanel* m_editor;
    bool m_timelineWanted = true; ///< when nothing is edited
};

/// "0F3", "attn.qkv", with its micro-batch where it has one.
QString spanName(const sim::Trace&, SpanRef);

} // namespace app
