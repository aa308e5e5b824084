// Puts a Dear ImGui draw list on screen by OpenGL (2.1 or ES 2 and later).
#pragma once

#include <QOpenGLBuffer>
#include <QOpenGLFunctions>
#include <QOpenGLShaderProgram>
#include <QOpenGLTexture>
#include <QOpenGLVertexArrayObject>
#include <QOpenGLWidget>

#include <functional>
#include <memory>

namespace app {

class DrawList;
class GlyphAtlas;

class GlCanvas final : public QOpenGLWidget, private QOpenGLFunctions {
    Q_OBJECT
public:
    struct Frame {
        const DrawList& list;
        QSize pixels;
        QColor background; ///< what the list leaves open
    };
    /// `prepare` is asked for the frame that is about to be painted.
    GlCanvas(std::function<Frame()> prepare, QWidget* parent);
    ~GlCanvas() override;

    /// Can the context that is current run what this class needs?
    static bool worksHere();

protected:
    void initializeGL() override;
    void paintGL() override;

private:
    void uploadAtlas(const GlyphAtlas&);
    void release();

    std::function<Frame()> m_prepare;
    std::unique_ptr<QOpenGLShaderProgram> m_program;
    std::unique_ptr<QOpenGLTexture> m_texture;
    const GlyphAtlas* m_textureOf = nullptr; ///< what is in the texture
    int m_textureGeneration = 0;
    std::unique_ptr<QOpenGLVertexArrayObject> m_arrays;
    QOpenGLBuffer m_vertices{QOpenGLBuffer::VertexBuffer}, m_indices{QOpenGLBuffer::IndexBuffer};
};

} // namespace app
