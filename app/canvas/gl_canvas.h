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

class GlCanvas final : public QOpenGLWidget, private QOpenGLFunctions {
    Q_OBJECT
public:
    /// `prepare` fills the draw list of the frame that is about to be painted and returns it with its background (0xAABBGGRR).
    struct Frame {
        const DrawList* list = nullptr;
        std::uint32_t background = 0xFFFFFFFF;
    };
    GlCanvas(std::function<Frame()> prepare, QWidget* parent);
    ~GlCanvas() override;

protected:
    void initializeGL() override;
    void paintGL() override;

private:
    void uploadAtlas(const DrawList&);

    std::function<Frame()> m_prepare;
    std::unique_ptr<QOpenGLShaderProgram> m_program;
    std::unique_ptr<QOpenGLTexture> m_texture;
    const void* m_textureOf = nullptr; ///< the atlas that is in the texture
    QOpenGLVertexArrayObject m_arrays;
    QOpenGLBuffer m_vertices{QOpenGLBuffer::VertexBuffer}, m_indices{QOpenGLBuffer::IndexBuffer};
};

} // namespace app
