// Matrix products by cuBLASLt.
#include "live/kernels/cuda/matmul.h"

#include "live/kernels/cuda/row_classes.h"
#include "live/kernels/shared_cache.h"
#include "live/kernels/versions.h"
#include "sim/error.h"

#include <array>
#include <cublasLt.h>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

namespace live::cuda {
namespace {

void check(cublasStatus_t status, const char* what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        throw sim::Error(std::string("cuBLASLt could not ") + what + ": " + cublasLtGetStatusString(status) + ".");
}

cudaDataType typeOf(DType type)
{
    return type == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// Owns a handle of the library.
template <class Handle, cublasStatus_t (*kDestroy)(Handle)>
class Owned {
public:
    Owned() = default;
    ~Owned()
    {
        if (m_handle)
            kDestroy(m_handle);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    Handle* out() { return &m_handle; }
    operator Handle() const { return m_handle; } // NOLINT(google-explicit-constructor): used as its handle

private:
    Handle m_handle = nullptr;
};
using Descriptor = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// What the library knows of one shape.
struct Plan {
    Descriptor description;
    Layout a, b, d;
    cublasLtMatmulAlgo_t algorithm{};
    bool usable = false;
    std::mutex inUse; ///< it holds the bias's address and the rows from one call to the next

    explicit Plan(const MatmulProblem& problem)
    {
        // fp32 stays fp32: TF32 would lose 13 bits that the comparison of layouts needs.
        check(cublasLtMatmulDescCreate(description.out(), CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
        set(CUBLASLT_MATMUL_DESC_TRANSA, problem.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
        set(CUBLASLT_MATMUL_DESC_TRANSB, problem.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
        if (problem.bias) {
            set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
            set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, typeOf(problem.output));
        }
        layout(a, problem.input, problem.transposeA ? problem.k : problem.m, problem.transposeA ? problem.m : problem.k,
               problem.strideA);
        layout(b, problem.input, problem.transposeB ? problem.n : problem.k, problem.transposeB ? problem.k : problem.n,
               problem.strideB);
        layout(d, problem.output, problem.m, problem.n, problem.strideD);
    }
    /// Gives the matrices the rows of a problem of the plan's class; nothing else differs in it.
    void fit(const MatmulProblem& problem)
    {
        const auto rows = static_cast<std::uint64_t>(rowsOf(problem));
        if (problem.transposeB) { // both inputs have them
            resize(a, problem.transposeA ? CUBLASLT_MATRIX_LAYOUT_ROWS : CUBLASLT_MATRIX_LAYOUT_COLS, rows);
            resize(b, CUBLASLT_MATRIX_LAYOUT_COLS, rows);
            return;
        }
        resize(b, CUBLASLT_MATRIX_LAYOUT_COLS, rows);
        resize(d, CUBLASLT_MATRIX_LAYOUT_COLS, rows);
    }
    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, const Value& value)
    {
        check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value), "describe a product");
    }

private:
    static void resize(Layout& matrix, cublasLtMatrixLayoutAttribute_t side, std::uint64_t size)
    {
        check(cublasLtMatrixLayoutSetAttribute(matrix, side, &size, sizeof size), "describe a matrix");
    }
    static void layout(Layout& to, DType type, std::int64_t rows, std::int64_t columns, std::int64_t stride)
    {
        check(cublasLtMatrixLayoutCreate(to.out(), typeOf(type), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), stride),
              "describe a matrix");
    }
};

class CublasMatmul final : public Matmul {
public:
    CublasMatmul(int gpu, bool tune) : m_tune(tune)
    {
        requireVersion("cuBLASLt", static_cast<int>(cublasLtGetVersion()), CUBLAS_VERSION);
        makeCurrent(gpu);
        check(cublasLtCreate(m_handle.out()), "start");
        // NVIDIA's advice for cuBLAS: 32 MiB from Hopper on, 4 MiB before.
        m_workspaceBytes = (gpuProperties(gpu).major >= 9 ? std::size_t{32} : std::size_t{4}) << 20;
    }
    std::size_t workspaceBytes() const override { return m_workspaceBytes; }

    bool canMultiply(const Workspace& workspace, const MatmulProblem& problem, const void* bias) override
    {
        const auto planFor = [&](const MatmulProblem& whole) {
            return planOf(whole, problem, nullptr, workspace, nullptr, nullptr, bias, nullptr);
        };
        if (const MatmulProblem whole = ofItsClass(problem); whole != problem) {
            const std::shared_ptr<Plan> shared = planFor(whole);
            const std::lock_guard lock(shared->inUse);
            if (shared->usable) {
                shared->fit(problem);
                cublasLtMatmulHeuristicResult_t result{};
                if (cublasLtMatmulAlgoCheck(m_handle, shared->description, shared->a, shared->b, shared->d, shared->d,
                                            &shared->algorithm, &result) == CUBLAS_STATUS_SUCCESS)
                    return true;
            }
        }
        return planFor(problem)->usable;
    }

    bool multiply(Stream stream, const Workspace& workspace, const MatmulProblem& problem, const void* a, const void* b,
                  const void* bias, void* d) override
    {
        if (const MatmulProblem whole = ofItsClass(problem); whole != problem) {
            const std::shared_ptr<Plan> shared = planOf(whole, problem, stream, workspace, a, b, bias, d);
            const std::lock_guard lock(shared->inUse);
            if (shared->usable) {
                shared->fit(problem);
                if (run(*shared, shared->algorithm, stream, workspace, problem, a, b, bias, d) == CUBLAS_STATUS_SUCCESS)
                    return true;
            }
        }
        const std::shared_ptr<Plan> shared = planOf(problem, problem, stream, workspace, a, b, bias, d);
        Plan& plan = *shared;
        if (!plan.usable) {
            if (problem.bias)
                return false;
            throw sim::Error("cuBLASLt has no algorithm for a product of " + std::to_string(problem.m) + " x " +
                             std::to_string(problem.k) + " by " + std::to_string(problem.k) + " x " + std::to_string(problem.n) +
                             " in " + dtypeName(problem.input) + ".");
        }
        const std::lock_guard lock(plan.inUse);
        plan.fit(problem); // others of its class may have used it
        check(run(plan, plan.algorithm, stream, workspace, problem, a, b, bias, d), "multiply");
        return true;
    }

private:
    static constexpr int kCandidates = 8;
    using Candidates = std::array<cublasLtMatmulHeuristicResult_t, kCandidates>;

    /// The plan for `whole`, made by trying `problem`, which is of its class, where it is not known yet: with no lock held, for
    /// other ranks' kernels must not stand still meanwhile.
    std::shared_ptr<Plan> planOf(const MatmulProblem& whole, const MatmulProblem& problem, Stream stream,
                                 const Workspace& workspace, const void* a, const void* b, const void* bias, void* d)
    {
        return m_plans.get(whole, [&] {
            auto made = std::make_shared<Plan>(whole);
            choose(*made, stream, workspace, problem, a, b, bias, d);
            return made;
        });
    }

    cublasStatus_t run(Plan& plan, const cublasLtMatmulAlgo_t& algorithm, Stream stream, const Workspace& workspace,
                       const MatmulProblem& problem, const void* a, const void* b, const void* bias, void* d)
    {
        if (problem.bias)
            plan.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        const float one = 1, beta = problem.accumulate ? 1 : 0;
        return cublasLtMatmul(m_handle, plan.description, &one, a, plan.a, b, plan.b, &beta, d, plan.d, d, plan.d, &algorithm,
                              workspace.data, workspace.bytes, stream);
    }

    void choose(Plan& plan, Stream stream, const Workspace& workspace, const MatmulProblem& problem, const void* a, const void* b,
                const void* bias, void* d)
    {
        Preference preference;
        check(cublasLtMatmulPreferenceCreate(preference.out()), "describe a preference");
        const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
            check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), "describe a preference");
        };
        prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace.bytes);
        prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.alignmentA);
        prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.alignmentB);
        prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.alignmentD);
        prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.alignmentD);
        // A split sum must be joined in one order, in the sums' own type.
        prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
        if (problem.bias)
            plan.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        Candidates candidates{};
        int count = 0;
        const cublasStatus_t status =
            cublasLtMatmulAlgoGetHeuristic(m_handle, plan.description, plan.a, plan.b, plan.d, plan.d, preference,
                                           m_tune ? kCandidates : 1, candidates.data(), &count);
        plan.usable = status == CUBLAS_STATUS_SUCCESS && count > 0 && candidates[0].state == CUBLAS_STATUS_SUCCESS;
        if (!plan.usable)
            return;
        plan.algorithm = candidates[0].algo;
        if (!m_tune || problem.accumulate || !d) // trying would add to d again and again; canMultiply() has none
            return;
        plan.fit(problem);
        tune(plan, candidates, count, stream, workspace, problem, a, b, bias, d);
    }

    void tune(Plan& plan, const Candidates& candidates, int count, Stream stream, const Workspace& workspace,
              const MatmulProblem& problem, const void* a, const void* b, const void* bias, void* d)
    {
        const Event start = createEvent(true), end = createEvent(true);
        float best = std::numeric_limits<float>::infinity();
        for (int i = 0; i < count; ++i) {
            const auto& candidate = candidates[static_cast<std::size_t>(i)];
            constexpr int kRuns = 4; // the first is not timed
            bool works = candidate.state == CUBLAS_STATUS_SUCCESS;
            for (int trial = 0; works && trial < kRuns; ++trial) {
                if (trial == 1)
                    recordEvent(start, stream);
                works = run(plan, candidate.algo, stream, workspace, problem, a, b, bias, d) == CUBLAS_STATUS_SUCCESS;
            }
            if (!works)
                continue;
            recordEvent(end, stream);
            synchronizeEvent(end);
            if (const float time = millisecondsBetween(start, end).value_or(best); time < best) {
                best = time;
                plan.algorithm = candidate.algo;
            }
        }
        destroyEvent(start);
        destroyEvent(end);
    }

    Owned<cublasLtHandle_t, cublasLtDestroy> m_handle;
    const bool m_tune;
    std::size_t m_workspaceBytes = 0;
    static constexpr std::size_t kPlans = 1024; ///< many times those of a model: experts' row counts come in classes
    SharedCache<MatmulProblem, Plan> m_plans{kPlans};
};

} // namespace

std::unique_ptr<Matmul> makeMatmul(int gpu, bool tune)
{
    return std::make_unique<CublasMatmul>(gpu, tune);
}

} // namespace live::cuda
